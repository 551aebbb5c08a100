// SPDX-License-Identifier: Apache-2.0

/* MIG mode and MIG devices. */

#include "mock.h"
#include "numbers.h"

#include <string.h>

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *currentMode,
                                  unsigned int *pendingMode)
{
    struct target t;

    if (currentMode == NULL || pendingMode == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.mig != NULL)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    if (t.gpu->profile->max_migs == 0)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *currentMode = t.gpu->mig;
    *pendingMode = t.gpu->mig_pending;
    return leave(NVML_SUCCESS);
}

DEVICE_NUMBER(nvmlDeviceIsMigDeviceHandle, unsigned int, t.mig != NULL)
GPU_NUMBER(nvmlDeviceGetMaxMigDeviceCount, unsigned int,
           t.gpu->mig ? t.gpu->profile->max_migs : 0)

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t *migDevice)
{
    struct target t;

    if (migDevice == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.mig != NULL || index >= t.gpu->profile->max_migs)
        return leave(t.mig == NULL && t.gpu->profile->max_migs == 0 ? NVML_ERROR_NOT_SUPPORTED
                                                                    : NVML_ERROR_INVALID_ARGUMENT);
    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu != t.gpu->index || m->ci == ID_NONE || m->index != index)
            continue;
        *migDevice = device_handle(t.gpu, m->gi, m->ci);
        return leave(migDevice->handle != NULL ? NVML_SUCCESS
                                               : NVML_ERROR_INSUFFICIENT_RESOURCES);
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t migDevice,
                                                          nvmlDevice_t *device)
{
    struct target t;

    if (device == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, migDevice, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.mig == NULL)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    *device = device_handle(t.gpu, ID_NONE, ID_NONE);
    return leave(device->handle != NULL ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_RESOURCES);
}

static nvmlReturn_t instance_id(const char *call, nvmlDevice_t device, bool compute,
                                unsigned int *id)
{
    struct target t;

    if (id == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.mig == NULL)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    *id = compute ? t.ci : t.gi;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *id)
{
    return instance_id(__func__, device, false, id);
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *id)
{
    return instance_id(__func__, device, true, id);
}

static nvmlReturn_t attributes_of(const char *call, nvmlDevice_t device,
                                  nvmlDeviceAttributes_t *attributes)
{
    struct target t;

    if (attributes == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.mig == NULL)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    *attributes = (nvmlDeviceAttributes_t){
        .multiprocessorCount = t.mig->sms,
        .sharedCopyEngineCount = t.mig->profile->copy_engines,
        .sharedDecoderCount = t.mig->profile->decoders,
        .sharedJpegCount = t.mig->profile->jpeg,
        .sharedOfaCount = t.mig->profile->ofa,
        .gpuInstanceSliceCount = t.mig->profile->slices,
        .computeInstanceSliceCount = t.mig->ci_slices,
        .memorySizeMB = t.mig->memory >> 20,
    };
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
    return attributes_of(__func__, device, attributes);
}

nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t device, nvmlDeviceAttributes_t *attributes)
{
    return attributes_of(__func__, device, attributes);
}
