// SPDX-License-Identifier: Apache-2.0

/* Which GPUs there are and what they are. */

#include "mock.h"
#include "numbers.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- enumeration ---- */

static nvmlReturn_t device_count(const char *call, unsigned int *count)
{
    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(call);
    if (rc != NVML_SUCCESS)
        return rc;
    *count = (unsigned int)world.state->n_gpus;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *deviceCount)
{
    return device_count(__func__, deviceCount);
}

nvmlReturn_t nvmlDeviceGetCount(unsigned int *deviceCount)
{
    return device_count(__func__, deviceCount);
}

/*
 * Second half of every look-up of a GPU: gives its handle unless a fault stands
 * in the way. Called under the lock, returns without it.
 */
static nvmlReturn_t give_handle(const char *call, const struct gpu *g, nvmlDevice_t *device)
{
    struct target t;
    uint32_t slot;

    if (g == NULL)
        return leave(NVML_ERROR_NOT_FOUND);
    slot = g->slot;
    world_unlock();
    nvmlReturn_t rc = enter_slot(call, slot, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *device = device_handle(t.gpu, ID_NONE, ID_NONE);
    return leave(device->handle != NULL ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES);
}

static nvmlReturn_t handle_by_index(const char *call, unsigned int index, nvmlDevice_t *device)
{
    if (device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(call);
    if (rc != NVML_SUCCESS)
        return rc;
    if (index >= world.state->n_gpus)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    return give_handle(call, &world.state->gpus[index], device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device)
{
    return handle_by_index(__func__, index, device);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned int index, nvmlDevice_t *device)
{
    return handle_by_index(__func__, index, device);
}

static const struct gpu *gpu_by_uuid(const char *uuid)
{
    for (size_t i = 0; i < world.state->n_gpus; i++)
        if (strcmp(world.state->gpus[i].uuid, uuid) == 0)
            return &world.state->gpus[i];
    return NULL;
}

/* A MIG device by "MIG-..." or the older "MIG-GPU-<uuid>/<gi>/<ci>". */
static const struct mig *mig_by_uuid(const char *uuid)
{
    char old_form[2 * TEXT_SIZE];

    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->ci == ID_NONE)
            continue;
        snprintf(old_form, sizeof old_form, "MIG-%s/%u/%u", world.state->gpus[m->gpu].uuid,
                 m->gi, m->ci);
        if (strcmp(m->uuid, uuid) == 0 || strcmp(old_form, uuid) == 0)
            return m;
    }
    return NULL;
}

static nvmlReturn_t give_mig_handle(const char *call, const struct mig *m, nvmlDevice_t *device)
{
    struct target t;
    uint32_t slot = world.state->gpus[m->gpu].slot, gi = m->gi, ci = m->ci;

    world_unlock();
    nvmlReturn_t rc = enter_slot(call, slot, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *device = device_handle(t.gpu, gi, ci);
    return leave(device->handle != NULL ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES);
}

static nvmlReturn_t handle_by_uuid(const char *call, const char *uuid, nvmlDevice_t *device)
{
    nvmlReturn_t rc = enter_system(call);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct mig *m = mig_by_uuid(uuid);
    if (m != NULL)
        return give_mig_handle(call, m, device);
    return give_handle(call, gpu_by_uuid(uuid), device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
    if (uuid == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    return handle_by_uuid(__func__, uuid, device);
}

nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t *uuid, nvmlDevice_t *device)
{
    if (uuid == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (uuid->version != nvmlUUID_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type != NVML_UUID_TYPE_ASCII)
        return NVML_ERROR_NOT_SUPPORTED;
    return handle_by_uuid(__func__, uuid->value.str, device);
}

nvmlReturn_t nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *device)
{
    if (serial == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    for (size_t i = 0; i < world.state->n_gpus; i++)
        if (strcmp(world.state->gpus[i].serial, serial) == 0)
            return give_handle(__func__, &world.state->gpus[i], device);
    return leave(NVML_ERROR_NOT_FOUND);
}

/* ---- PCI ---- */

static void bus_id(const struct gpu *g, char *out, size_t size)
{
    snprintf(out, size, NVML_DEVICE_PCI_BUS_ID_FMT, g->domain, g->bus, g->device);
}

/* Accepts the long ("00000000:07:00.0") and the short ("0000:07:00.0") domain. */
static bool same_bus_id(const struct gpu *g, const char *text)
{
    char long_form[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];
    char short_form[NVML_DEVICE_PCI_BUS_ID_BUFFER_SIZE];

    bus_id(g, long_form, sizeof long_form);
    snprintf(short_form, sizeof short_form, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, g->domain, g->bus,
             g->device);
    return strcasecmp(text, long_form) == 0 || strcasecmp(text, short_form) == 0;
}

static nvmlReturn_t handle_by_bus_id(const char *call, const char *text, nvmlDevice_t *device)
{
    if (text == NULL || device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(call);
    if (rc != NVML_SUCCESS)
        return rc;
    for (size_t i = 0; i < world.state->n_gpus; i++)
        if (same_bus_id(&world.state->gpus[i], text))
            return give_handle(call, &world.state->gpus[i], device);
    return leave(NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char *pciBusId, nvmlDevice_t *device)
{
    return handle_by_bus_id(__func__, pciBusId, device);
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char *pciBusId, nvmlDevice_t *device)
{
    return handle_by_bus_id(__func__, pciBusId, device);
}

static nvmlReturn_t pci_info(const char *call, nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    struct target t;

    if (pci == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    memset(pci, 0, sizeof *pci);
    pci->domain = t.gpu->domain;
    pci->bus = t.gpu->bus;
    pci->device = t.gpu->device;
    pci->pciDeviceId = t.gpu->pci_device_id;
    pci->pciSubSystemId = 0x134F10DE;
    bus_id(t.gpu, pci->busId, sizeof pci->busId);
    snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT,
             t.gpu->domain & 0xFFFF, t.gpu->bus & 0xFF, t.gpu->device & 0xFF);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t device, nvmlPciInfo_t *pci)
{
    return pci_info(__func__, device, pci);
}

/* ---- texts ---- */

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *uuid, unsigned int length)
{
    struct target t;

    if (uuid == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(copy_text(uuid, length, t.mig != NULL ? t.mig->uuid : t.gpu->uuid));
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *name, unsigned int length)
{
    char text[3 * TEXT_SIZE];
    struct target t;

    if (name == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    snprintf(text, sizeof text, "%s%s%s", t.gpu->name, t.mig != NULL ? " MIG " : "",
             t.mig != NULL ? t.mig->profile_name : "");
    return leave(copy_text(name, length, text));
}

nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t device, char *serial, unsigned int length)
{
    struct target t;

    if (serial == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(copy_text(serial, length, t.gpu->serial));
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t device, char *version, unsigned int length)
{
    struct target t;

    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(copy_text(version, length, "92.00.45.00.03"));
}

/* ---- numbers ---- */

DEVICE_NUMBER(nvmlDeviceGetIndex, unsigned int, t.mig != NULL ? t.mig->index : t.gpu->index)
DEVICE_NUMBER(nvmlDeviceGetArchitecture, nvmlDeviceArchitecture_t, t.gpu->arch)
DEVICE_NUMBER(nvmlDeviceGetBrand, nvmlBrandType_t, t.gpu->brand)
DEVICE_NUMBER(nvmlDeviceGetComputeMode, nvmlComputeMode_t, t.gpu->compute_mode)
DEVICE_NUMBER(nvmlDeviceGetVirtualizationMode, nvmlGpuVirtualizationMode_t, t.gpu->virtualization)
GPU_NUMBER(nvmlDeviceGetMinorNumber, unsigned int, t.gpu->minor)
GPU_NUMBER(nvmlDeviceGetPersistenceMode, nvmlEnableState_t, t.gpu->persistence)
GPU_NUMBER(nvmlDeviceGetModuleId, unsigned int, t.gpu->index)
GPU_NUMBER(nvmlDeviceGetBoardId, unsigned int, t.gpu->bus << 8)
GPU_NUMBER(nvmlDeviceGetMultiGpuBoard, unsigned int, 0)
GPU_NUMBER(nvmlDeviceGetNumGpuCores, unsigned int, t.gpu->profile->cores)
GPU_NUMBER(nvmlDeviceGetMemoryBusWidth, unsigned int, t.gpu->profile->bus_width)
GPU_NUMBER(nvmlDeviceGetBusType, nvmlBusType_t, NVML_BUS_TYPE_PCIE)
GPU_NUMBER(nvmlDeviceGetDisplayMode, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GPU_NUMBER(nvmlDeviceGetDisplayActive, nvmlEnableState_t, NVML_FEATURE_DISABLED)
GPU_NUMBER(nvmlDeviceGetPerformanceState, nvmlPstates_t, NVML_PSTATE_0)

nvmlReturn_t nvmlDeviceGetNumaNodeId(nvmlDevice_t device, unsigned int *node)
{
    struct target t;

    if (node == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.gpu->numa == UINT32_MAX) /* the GPU's memory is no NUMA node of the host */
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *node = t.gpu->numa;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    struct target t;

    if (major == NULL || minor == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *major = (int)(t.gpu->cc / 10);
    *minor = (int)(t.gpu->cc % 10);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAddressingMode(nvmlDevice_t device, nvmlDeviceAddressingMode_t *mode)
{
    struct target t;

    if (mode == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (mode->version != nvmlDeviceAddressingMode_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    mode->value = t.gpu->addressing;
    return leave(NVML_SUCCESS);
}

/* ---- topology: no NVLink, every GPU on its own bridge ---- */

nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device1, nvmlDevice_t device2,
                                                 nvmlGpuTopologyLevel_t *pathInfo)
{
    struct target t;

    if (pathInfo == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device2, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    uint32_t second = t.gpu->slot;
    world_unlock();
    rc = enter_gpu(__func__, device1, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *pathInfo = t.gpu->slot == second ? NVML_TOPOLOGY_INTERNAL : NVML_TOPOLOGY_SYSTEM;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link,
                                      nvmlEnableState_t *isActive)
{
    struct target t;

    if (isActive == NULL || link >= NVML_NVLINK_MAX_LINKS)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *isActive = NVML_FEATURE_DISABLED;
    return leave(NVML_SUCCESS);
}
