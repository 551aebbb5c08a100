// SPDX-License-Identifier: Apache-2.0

/*
 * Device profiles: what kind of GPU a `gpu` line is.
 *
 * MIG memory, SM counts, instance counts, profile ids and placements are those
 * NVIDIA publishes and `nvidia-smi mig -lgip` prints (7-slice parts: memory
 * slices in eighths; A30 and RTX PRO 6000: in quarters). Driver reserve, idle
 * power, clocks and the media engines of MIG profiles are typical values, not
 * promises. A row marked "estimate" has no printed source for its memory.
 */

#include "mock.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* Possible first memory slices, one bit each. */
enum {
    AT_0 = 0x01,
    AT_0_4 = 0x11,
    AT_0_2 = 0x05,
    AT_0_2_4 = 0x15,
    AT_0_2_4_6 = 0x55,
    AT_0_TO_3 = 0x0F,
    AT_0_TO_6 = 0x7F,
};

enum {
    P1 = NVML_GPU_INSTANCE_PROFILE_1_SLICE,
    P2 = NVML_GPU_INSTANCE_PROFILE_2_SLICE,
    P3 = NVML_GPU_INSTANCE_PROFILE_3_SLICE,
    P4 = NVML_GPU_INSTANCE_PROFILE_4_SLICE,
    P7 = NVML_GPU_INSTANCE_PROFILE_7_SLICE,
    P1_ME = NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV1,
    P2_ME = NVML_GPU_INSTANCE_PROFILE_2_SLICE_REV1,
    P1_WIDE = NVML_GPU_INSTANCE_PROFILE_1_SLICE_REV2, /* one compute slice, two memory slices */
};

/* name, profile, id, slices, memory slices, max, SMs, MiB, starts, CE, DEC, JPEG, OFA */

static const struct mig_profile a100_40gb_mig[] = {
    {"1g.5gb",    P1,      19, 1, 1, 7, 14,  4864, AT_0_TO_6,  1, 0, 0, 0},
    {"1g.5gb+me", P1_ME,   20, 1, 1, 1, 14,  4864, AT_0_TO_6,  1, 1, 1, 1},
    {"1g.10gb",   P1_WIDE, 15, 1, 2, 4, 14,  9856, AT_0_2_4_6, 1, 1, 0, 0},
    {"2g.10gb",   P2,      14, 2, 2, 3, 28,  9856, AT_0_2_4,   2, 1, 0, 0},
    {"3g.20gb",   P3,       9, 3, 4, 2, 42, 19968, AT_0_4,     3, 2, 0, 0},
    {"4g.20gb",   P4,       5, 4, 4, 1, 56, 19968, AT_0,       4, 2, 0, 0},
    {"7g.40gb",   P7,       0, 7, 8, 1, 98, 40192, AT_0,       7, 5, 1, 1},
};

static const struct mig_profile a100_80gb_mig[] = {
    {"1g.10gb",    P1,      19, 1, 1, 7, 14,  9856, AT_0_TO_6,  1, 0, 0, 0},
    {"1g.10gb+me", P1_ME,   20, 1, 1, 1, 14,  9856, AT_0_TO_6,  1, 1, 1, 1},
    {"1g.20gb",    P1_WIDE, 15, 1, 2, 4, 14, 19968, AT_0_2_4_6, 1, 1, 0, 0},
    {"2g.20gb",    P2,      14, 2, 2, 3, 28, 19968, AT_0_2_4,   2, 1, 0, 0},
    {"3g.40gb",    P3,       9, 3, 4, 2, 42, 40192, AT_0_4,     3, 2, 0, 0},
    {"4g.40gb",    P4,       5, 4, 4, 1, 56, 40192, AT_0,       4, 2, 0, 0},
    {"7g.80gb",    P7,       0, 7, 8, 1, 98, 80896, AT_0,       7, 5, 1, 1},
};

static const struct mig_profile a30_mig[] = {
    {"1g.6gb",     P1,    14, 1, 1, 4, 14,  5836, AT_0_TO_3, 1, 0, 0, 0},
    {"1g.6gb+me",  P1_ME, 21, 1, 1, 1, 14,  5836, AT_0_TO_3, 1, 1, 1, 1},
    {"2g.12gb",    P2,     5, 2, 2, 2, 28, 11672, AT_0_2,    2, 2, 0, 0},
    {"2g.12gb+me", P2_ME,  6, 2, 2, 1, 28, 11672, AT_0_2,    2, 2, 1, 1},
    {"4g.24gb",    P4,     0, 4, 4, 1, 56, 23344, AT_0,      4, 4, 1, 1},
};

static const struct mig_profile h100_mig[] = {
    {"1g.10gb",    P1,      19, 1, 1, 7,  16,  9984, AT_0_TO_6,  1, 1, 1, 0}, /* estimate */
    {"1g.10gb+me", P1_ME,   20, 1, 1, 1,  16,  9984, AT_0_TO_6,  1, 1, 1, 1}, /* estimate */
    {"1g.20gb",    P1_WIDE, 15, 1, 2, 4,  26, 20096, AT_0_2_4_6, 1, 1, 1, 0},
    {"2g.20gb",    P2,      14, 2, 2, 3,  32, 20096, AT_0_2_4,   2, 2, 2, 0},
    {"3g.40gb",    P3,       9, 3, 4, 2,  60, 40448, AT_0_4,     3, 3, 3, 0},
    {"4g.40gb",    P4,       5, 4, 4, 1,  64, 40448, AT_0,       4, 4, 4, 0},
    {"7g.80gb",    P7,       0, 7, 8, 1, 132, 81152, AT_0,       8, 7, 7, 1},
};

static const struct mig_profile h100_pcie_mig[] = {
    {"1g.10gb",    P1,      19, 1, 1, 7,  14,  9984, AT_0_TO_6,  1, 1, 1, 0}, /* estimate */
    {"1g.10gb+me", P1_ME,   20, 1, 1, 1,  14,  9984, AT_0_TO_6,  1, 1, 1, 1}, /* estimate */
    {"1g.20gb",    P1_WIDE, 15, 1, 2, 4,  14, 20096, AT_0_2_4_6, 1, 1, 1, 0},
    {"2g.20gb",    P2,      14, 2, 2, 3,  30, 20096, AT_0_2_4,   2, 2, 2, 0},
    {"3g.40gb",    P3,       9, 3, 4, 2,  46, 40448, AT_0_4,     3, 3, 3, 0},
    {"4g.40gb",    P4,       5, 4, 4, 1,  62, 40448, AT_0,       4, 4, 4, 0},
    {"7g.80gb",    P7,       0, 7, 8, 1, 114, 81152, AT_0,       8, 7, 7, 1},
};

static const struct mig_profile h200_mig[] = {
    {"1g.18gb",    P1,      19, 1, 1, 7,  16,  16384, AT_0_TO_6,  1, 1, 1, 0},
    {"1g.18gb+me", P1_ME,   20, 1, 1, 1,  16,  16384, AT_0_TO_6,  1, 1, 1, 1},
    {"1g.35gb",    P1_WIDE, 15, 1, 2, 4,  26,  33024, AT_0_2_4_6, 1, 1, 1, 0},
    {"2g.35gb",    P2,      14, 2, 2, 3,  32,  33024, AT_0_2_4,   2, 2, 2, 0},
    {"3g.71gb",    P3,       9, 3, 4, 2,  60,  71168, AT_0_4,     3, 3, 3, 0},
    {"4g.71gb",    P4,       5, 4, 4, 1,  64,  71168, AT_0,       4, 4, 4, 0},
    {"7g.141gb",   P7,       0, 7, 8, 1, 132, 143360, AT_0,       8, 7, 7, 1},
};

static const struct mig_profile b200_mig[] = {
    {"1g.23gb",    P1,      19, 1, 1, 7,  18,  20992, AT_0_TO_6,  1, 1, 1, 0},
    {"1g.23gb+me", P1_ME,   20, 1, 1, 1,  18,  20992, AT_0_TO_6,  1, 1, 1, 1},
    {"1g.45gb",    P1_WIDE, 15, 1, 2, 4,  30,  45312, AT_0_2_4_6, 1, 1, 1, 0},
    {"2g.45gb",    P2,      14, 2, 2, 3,  36,  45312, AT_0_2_4,   2, 2, 2, 0},
    {"3g.90gb",    P3,       9, 3, 4, 2,  70,  91136, AT_0_4,     3, 3, 3, 0}, /* estimate */
    {"4g.90gb",    P4,       5, 4, 4, 1,  72,  91136, AT_0,       4, 4, 4, 0}, /* estimate */
    {"7g.180gb",   P7,       0, 7, 8, 1, 148, 182784, AT_0,       8, 7, 7, 1}, /* estimate */
};

static const struct mig_profile rtx_pro_6000_mig[] = {
    {"1g.24gb", P1, 14, 1, 1, 4,  46, 24192, AT_0_TO_3, 1, 1, 1, 0},
    {"2g.48gb", P2,  5, 2, 2, 2,  94, 48512, AT_0_2,    2, 2, 2, 0},
    {"4g.96gb", P4,  0, 4, 4, 1, 188, 97280, AT_0,      4, 4, 4, 1},
};

#define MIG(table, migs) .mig = (table), .n_mig = COUNT(table), .max_migs = (migs)
#define DATACENTER .brand = NVML_BRAND_NVIDIA, .ecc = true

static const struct device_profile profiles[] = {
    {.key = "t4", .name = "Tesla T4", .brand = NVML_BRAND_TESLA, .ecc = true,
     .arch = NVML_DEVICE_ARCH_TURING, .cc = 75, .sms = 40, .cores = 2560, .bus_width = 256,
     .pci_device_id = 0x1EB810DE, .memory_mib = 15360, .reserved_mib = 449, .memory_info = true,
     .idle_watts = 9, .min_watts = 60, .max_watts = 70, .sm_mhz = 1590, .memory_mhz = 5001},
    {.key = "a10g", .name = "NVIDIA A10G", DATACENTER,
     .arch = NVML_DEVICE_ARCH_AMPERE, .cc = 86, .sms = 80, .cores = 9216, .bus_width = 384,
     .pci_device_id = 0x223710DE, .memory_mib = 23028, .reserved_mib = 512, .memory_info = true,
     .idle_watts = 16, .min_watts = 100, .max_watts = 300, .sm_mhz = 1710, .memory_mhz = 6251},
    {.key = "l40s", .name = "NVIDIA L40S", DATACENTER,
     .arch = NVML_DEVICE_ARCH_ADA, .cc = 89, .sms = 142, .cores = 18176, .bus_width = 384,
     .pci_device_id = 0x26B910DE, .memory_mib = 46068, .reserved_mib = 598, .memory_info = true,
     .idle_watts = 36, .min_watts = 100, .max_watts = 350, .sm_mhz = 2520, .memory_mhz = 9001},
    {.key = "a100-40gb", .name = "NVIDIA A100-SXM4-40GB", DATACENTER,
     .arch = NVML_DEVICE_ARCH_AMPERE, .cc = 80, .sms = 108, .cores = 6912, .bus_width = 5120,
     .pci_device_id = 0x20B010DE, .memory_mib = 40960, .reserved_mib = 600, .memory_info = true,
     .idle_watts = 52, .min_watts = 100, .max_watts = 400, .sm_mhz = 1410, .memory_mhz = 1215,
     MIG(a100_40gb_mig, 7)},
    {.key = "a100-80gb", .name = "NVIDIA A100-SXM4-80GB", DATACENTER,
     .arch = NVML_DEVICE_ARCH_AMPERE, .cc = 80, .sms = 108, .cores = 6912, .bus_width = 5120,
     .pci_device_id = 0x20B210DE, .memory_mib = 81920, .reserved_mib = 869, .memory_info = true,
     .idle_watts = 62, .min_watts = 100, .max_watts = 400, .sm_mhz = 1410, .memory_mhz = 1593,
     MIG(a100_80gb_mig, 7)},
    {.key = "a30", .name = "NVIDIA A30", DATACENTER,
     .arch = NVML_DEVICE_ARCH_AMPERE, .cc = 80, .sms = 56, .cores = 3584, .bus_width = 3072,
     .pci_device_id = 0x20B710DE, .memory_mib = 24576, .reserved_mib = 484, .memory_info = true,
     .idle_watts = 28, .min_watts = 100, .max_watts = 165, .sm_mhz = 1440, .memory_mhz = 1215,
     MIG(a30_mig, 4)},
    {.key = "h100", .name = "NVIDIA H100 80GB HBM3", DATACENTER,
     .arch = NVML_DEVICE_ARCH_HOPPER, .cc = 90, .sms = 132, .cores = 16896, .bus_width = 5120,
     .pci_device_id = 0x233010DE, .memory_mib = 81559, .reserved_mib = 551, .memory_info = true,
     .gpm = true, .idle_watts = 70, .min_watts = 200, .max_watts = 700, .sm_mhz = 1980,
     .memory_mhz = 2619, MIG(h100_mig, 7)},
    {.key = "h100-pcie", .name = "NVIDIA H100 PCIe", DATACENTER,
     .arch = NVML_DEVICE_ARCH_HOPPER, .cc = 90, .sms = 114, .cores = 14592, .bus_width = 5120,
     .pci_device_id = 0x233110DE, .memory_mib = 81559, .reserved_mib = 551, .memory_info = true,
     .gpm = true, .idle_watts = 48, .min_watts = 200, .max_watts = 350, .sm_mhz = 1755,
     .memory_mhz = 1593, MIG(h100_pcie_mig, 7)},
    {.key = "h200", .name = "NVIDIA H200", DATACENTER,
     .arch = NVML_DEVICE_ARCH_HOPPER, .cc = 90, .sms = 132, .cores = 16896, .bus_width = 6144,
     .pci_device_id = 0x233510DE, .memory_mib = 143771, .reserved_mib = 607, .memory_info = true,
     .gpm = true, .idle_watts = 76, .min_watts = 200, .max_watts = 700, .sm_mhz = 1980,
     .memory_mhz = 3201, MIG(h200_mig, 7)},
    {.key = "b200", .name = "NVIDIA B200", DATACENTER,
     .arch = NVML_DEVICE_ARCH_BLACKWELL, .cc = 100, .sms = 148, .cores = 18944, .bus_width = 8192,
     .pci_device_id = 0x290110DE, .memory_mib = 183359, .reserved_mib = 833, .memory_info = true,
     .gpm = true, .idle_watts = 140, .min_watts = 200, .max_watts = 1000, .sm_mhz = 1965,
     .memory_mhz = 3996, MIG(b200_mig, 7)},
    {.key = "gb10", .name = "NVIDIA GB10", .brand = NVML_BRAND_NVIDIA,
     .arch = NVML_DEVICE_ARCH_BLACKWELL, .cc = 121, .sms = 48, .cores = 6144, .bus_width = 256,
     .pci_device_id = 0x2E1210DE, .memory_mib = 122572, .reserved_mib = 0, .memory_info = false,
     .idle_watts = 4, .sm_mhz = 3003, .memory_mhz = 0},
    {.key = "rtxpro6000", .name = "NVIDIA RTX PRO 6000 Blackwell Server Edition",
     .brand = NVML_BRAND_NVIDIA_RTX, .ecc = true,
     .arch = NVML_DEVICE_ARCH_BLACKWELL, .cc = 120, .sms = 188, .cores = 24064, .bus_width = 512,
     .pci_device_id = 0x2BB510DE, .memory_mib = 97887, .reserved_mib = 640, .memory_info = true,
     .gpm = true, .idle_watts = 30, .min_watts = 300, .max_watts = 600, .sm_mhz = 2430,
     .memory_mhz = 12481, MIG(rtx_pro_6000_mig, 4)},
};

const struct device_profile *device_profile_find(const char *key)
{
    for (size_t i = 0; i < COUNT(profiles); i++)
        if (strcmp(profiles[i].key, key) == 0)
            return &profiles[i];
    return NULL;
}

const struct mig_profile *mig_profile_by_id(const struct device_profile *p, unsigned id)
{
    for (unsigned i = 0; i < p->n_mig; i++)
        if (p->mig[i].id == id)
            return &p->mig[i];
    return NULL;
}

const struct mig_profile *mig_profile_by_index(const struct device_profile *p, unsigned profile)
{
    for (unsigned i = 0; i < p->n_mig; i++)
        if (p->mig[i].profile == profile)
            return &p->mig[i];
    return NULL;
}

const struct mig_profile *mig_profile_by_name(const struct device_profile *p, const char *name)
{
    for (unsigned i = 0; i < p->n_mig; i++)
        if (strcmp(p->mig[i].name, name) == 0)
            return &p->mig[i];
    return NULL;
}
