// SPDX-License-Identifier: Apache-2.0

/* `gpu` lines: one GPU, its defaults from a device profile. */

#include "lines.h"

#include <stdio.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool to_compute_mode(struct parser *p, const char *key, const char *value, void *out)
{
    static const char *const names[] = {"default", "exclusive_thread", "prohibited",
                                        "exclusive_process"};
    return to_choice(p, key, value, out, names, COUNT(names));
}

static bool to_addressing(struct parser *p, const char *key, const char *value, void *out)
{
    static const char *const names[] = {"none", "hmm", "ats"};
    return to_choice(p, key, value, out, names, COUNT(names));
}

static bool to_virtualization(struct parser *p, const char *key, const char *value, void *out)
{
    static const char *const names[] = {"none", "passthrough", "vgpu", "host_vgpu", "host_vsga"};
    return to_choice(p, key, value, out, names, COUNT(names));
}

static bool to_recovery(struct parser *p, const char *key, const char *value, void *out)
{
    static const char *const names[] = {"none", "gpu_reset", "node_reboot", "drain_p2p",
                                        "drain_and_reset", "recover_imex_domain", "bus_reset",
                                        "system_reboot"};
    return to_choice(p, key, value, out, names, COUNT(names));
}

static bool to_switch(struct parser *p, const char *key, const char *value, void *out)
{
    bool on;

    if (!to_flag(p, key, value, &on))
        return false;
    *(uint32_t *)out = on;
    return true;
}

static bool to_gpu_uuid(struct parser *p, const char *key, const char *value, void *out)
{
    if (strncmp(value, "GPU-", 4) != 0)
        return fail(p, "%s=%s: a GPU's UUID begins with GPU-", key, value);
    for (size_t i = 0; i < p->state->n_gpus; i++)
        if (strcmp(p->state->gpus[i].uuid, value) == 0)
            return fail(p, "%s=%s: line %u has the same UUID", key, value,
                        p->state->gpus[i].line);
    return to_text(p, key, value, out);
}

#define AT(member) offsetof(struct gpu, member)

static const struct key gpu_keys[] = {
    {"profile", to_nothing, 0}, /* read before the others, it sets their defaults */
    {"uuid", to_gpu_uuid, AT(uuid)},
    {"name", to_name, AT(name)},
    {"serial", to_text, AT(serial)},
    {"minor", to_u32, AT(minor)},
    {"domain", to_u32, AT(domain)},
    {"bus", to_u32, AT(bus)},
    {"device", to_u32, AT(device)},
    {"numa", to_u32, AT(numa)},
    {"pci_id", to_u32, AT(pci_device_id)},
    {"cc", to_u32, AT(cc)},
    {"arch", to_u32, AT(arch)},
    {"brand", to_u32, AT(brand)},
    {"mem", to_bytes, AT(memory)},
    {"reserved", to_bytes, AT(reserved)},
    {"extra", to_bytes, AT(extra)},
    {"memory_info", to_flag, AT(memory_info)},
    {"gpm", to_flag, AT(gpm)},
    {"ecc", to_flag, AT(ecc)},
    {"ecc_corrected", to_u64, AT(ecc_corrected)},
    {"ecc_uncorrected", to_u64, AT(ecc_uncorrected)},
    {"mig", to_switch, AT(mig)},
    {"mig_pending", to_switch, AT(mig_pending)},
    {"util", to_u32, AT(util)},
    {"memutil", to_u32, AT(mem_util)},
    {"enc", to_u32, AT(enc_util)},
    {"dec", to_u32, AT(dec_util)},
    {"power", to_milliwatts, AT(power)},
    {"power_limit", to_milliwatts, AT(power_limit)},
    {"energy", to_u64, AT(energy)},
    {"temp", to_u32, AT(temperature)},
    {"mem_temp", to_u32, AT(mem_temperature)},
    {"sm_clock", to_u32, AT(sm_clock)},
    {"mem_clock", to_u32, AT(mem_clock)},
    {"sm_clock_max", to_u32, AT(sm_clock_max)},
    {"mem_clock_max", to_u32, AT(mem_clock_max)},
    {"clock_reasons", to_u64, AT(clock_reasons)},
    {"pcie_rx", to_u32, AT(pcie_rx)},
    {"pcie_tx", to_u32, AT(pcie_tx)},
    {"compute_mode", to_compute_mode, AT(compute_mode)},
    {"persistence", to_switch, AT(persistence)},
    {"addressing", to_addressing, AT(addressing)},
    {"virtualization", to_virtualization, AT(virtualization)},
    {"recovery", to_recovery, AT(recovery)},
    {"accounting", to_switch, AT(accounting)},
    {"accounting_size", to_u32, AT(accounting_size)},
    {NULL, NULL, 0},
};

static void set_defaults(struct gpu *g, const struct device_profile *profile, uint32_t index)
{
    g->profile = profile;
    g->index = g->minor = index;
    g->bus = 7 + index * 8;
    g->numa = UINT32_MAX;
    snprintf(g->name, sizeof g->name, "%s", profile->name);
    snprintf(g->serial, sizeof g->serial, "13200000000%02u", index);
    g->pci_device_id = profile->pci_device_id;
    g->cc = profile->cc;
    g->arch = profile->arch;
    g->brand = profile->brand;
    g->memory = (uint64_t)profile->memory_mib << 20;
    g->reserved = (uint64_t)profile->reserved_mib << 20;
    g->memory_info = profile->memory_info;
    g->gpm = profile->gpm;
    g->ecc = profile->ecc;
    g->mig_pending = AUTO;
    g->util = g->mem_util = AUTO;
    g->power = (uint64_t)profile->idle_watts * 1000;
    g->power_limit = (uint64_t)profile->max_watts * 1000;
    g->temperature = 34;
    g->mem_temperature = 38;
    g->sm_clock = g->sm_clock_max = profile->sm_mhz;
    g->mem_clock = g->mem_clock_max = profile->memory_mhz;
    g->persistence = 1;
    g->accounting_size = 4000;
}

static bool check_gpu(struct parser *p, struct gpu *g)
{
    if (g->mig_pending == AUTO)
        g->mig_pending = g->mig;
    if ((g->mig || g->mig_pending) && g->profile->max_migs == 0)
        return fail(p, "profile %s has no MIG, mig= must be 0", g->profile->key);
    if (g->reserved > g->memory)
        return fail(p, "reserved is more than mem");
    if (g->accounting_size == 0)
        return fail(p, "accounting_size must be at least 1");
    return true;
}

bool add_gpu(struct parser *p, struct words *w)
{
    struct state *s = p->state;
    const char *key = find_word(w, "profile");
    const struct device_profile *profile = device_profile_find(key != NULL ? key : "a100-40gb");

    if (profile == NULL)
        return fail(p, "profile=%s: no such device profile (see README.md)", key);
    if (s->n_gpus == MAX_GPUS)
        return fail(p, "more than %d gpu lines", MAX_GPUS);
    if (!require_key(p, w, "uuid", "the GPU's UUID, GPU-..."))
        return false;

    struct gpu *g = grow(p, (void **)&s->gpus, &s->n_gpus, sizeof *g);
    if (g == NULL)
        return false;
    set_defaults(g, profile, (uint32_t)s->n_gpus - 1);
    g->line = p->line;
    return apply_keys(p, w, gpu_keys, g) && check_gpu(p, g);
}
