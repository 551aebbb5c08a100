// SPDX-License-Identifier: Apache-2.0

/*
 * GPU instances: profiles, placements, look-up. Instances come from the state
 * file; creating and destroying them through NVML is not supported.
 */

#include "mock.h"

#include <stdio.h>
#include <string.h>

/* ---- profiles ---- */

static void put_profile(const struct mig_profile *p, nvmlGpuInstanceProfileInfo_t *out)
{
    *out = (nvmlGpuInstanceProfileInfo_t){
        .id = p->id, .sliceCount = p->slices, .instanceCount = p->max_instances,
        .multiprocessorCount = p->sms, .copyEngineCount = p->copy_engines,
        .decoderCount = p->decoders, .jpegCount = p->jpeg, .ofaCount = p->ofa,
        .memorySizeMB = p->memory_mib,
    };
}

static void put_profile_v2(const struct mig_profile *p, nvmlGpuInstanceProfileInfo_v2_t *out)
{
    *out = (nvmlGpuInstanceProfileInfo_v2_t){
        .version = out->version, .id = p->id, .sliceCount = p->slices,
        .instanceCount = p->max_instances, .multiprocessorCount = p->sms,
        .copyEngineCount = p->copy_engines, .decoderCount = p->decoders, .jpegCount = p->jpeg,
        .ofaCount = p->ofa, .memorySizeMB = p->memory_mib,
    };
    snprintf(out->name, sizeof out->name, "MIG %s", p->name);
}

static void put_profile_v3(const struct mig_profile *p, nvmlGpuInstanceProfileInfo_v3_t *out)
{
    *out = (nvmlGpuInstanceProfileInfo_v3_t){
        .version = out->version, .id = p->id, .sliceCount = p->slices,
        .instanceCount = p->max_instances, .multiprocessorCount = p->sms,
        .copyEngineCount = p->copy_engines, .decoderCount = p->decoders, .jpegCount = p->jpeg,
        .ofaCount = p->ofa, .memorySizeMB = p->memory_mib,
    };
    snprintf(out->name, sizeof out->name, "MIG %s", p->name);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfo(nvmlDevice_t device, unsigned int profile,
                                                 nvmlGpuInstanceProfileInfo_t *info)
{
    struct target t;

    if (info == NULL || profile >= NVML_GPU_INSTANCE_PROFILE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct mig_profile *p = mig_profile_by_index(t.gpu->profile, profile);
    if (p == NULL)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    put_profile(p, info);
    return leave(NVML_SUCCESS);
}

/* The caller's struct is v2 or v3 by its version field, which both begin with. */
static nvmlReturn_t put_versioned(const struct mig_profile *p, nvmlGpuInstanceProfileInfo_v2_t *info)
{
    if (p == NULL)
        return NVML_ERROR_NOT_SUPPORTED;
    if (info->version == nvmlGpuInstanceProfileInfo_v2)
        put_profile_v2(p, info);
    else
        put_profile_v3(p, (nvmlGpuInstanceProfileInfo_v3_t *)(void *)info);
    return NVML_SUCCESS;
}

static bool known_version(unsigned version)
{
    return version == nvmlGpuInstanceProfileInfo_v2 || version == nvmlGpuInstanceProfileInfo_v3;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoV(nvmlDevice_t device, unsigned int profile,
                                                  nvmlGpuInstanceProfileInfo_v2_t *info)
{
    struct target t;

    if (info == NULL || profile >= NVML_GPU_INSTANCE_PROFILE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!known_version(info->version))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(put_versioned(mig_profile_by_index(t.gpu->profile, profile), info));
}

nvmlReturn_t nvmlDeviceGetGpuInstanceProfileInfoByIdV(nvmlDevice_t device, unsigned int profileId,
                                                      nvmlGpuInstanceProfileInfo_v2_t *info)
{
    struct target t;

    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (!known_version(info->version))
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(put_versioned(mig_profile_by_id(t.gpu->profile, profileId), info));
}

/* ---- placements ---- */

static nvmlReturn_t placements(const char *call, nvmlDevice_t device, unsigned int profileId,
                               nvmlGpuInstancePlacement_t *out, unsigned int *count)
{
    struct target t;
    unsigned n = 0;

    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct mig_profile *p = mig_profile_by_id(t.gpu->profile, profileId);
    if (p == NULL)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (unsigned start = 0; start < 8; start++) {
        if ((p->starts >> start & 1) == 0)
            continue;
        if (out != NULL && n < *count)
            out[n] = (nvmlGpuInstancePlacement_t){.start = start, .size = p->memory_slices};
        n++;
    }
    bool fits = out == NULL || n <= *count;
    *count = n;
    return leave(fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE);
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements_v2(nvmlDevice_t device,
                                                           unsigned int profileId,
                                                           nvmlGpuInstancePlacement_t *placement,
                                                           unsigned int *count)
{
    return placements(__func__, device, profileId, placement, count);
}

nvmlReturn_t nvmlDeviceGetGpuInstancePossiblePlacements(nvmlDevice_t device,
                                                        unsigned int profileId,
                                                        nvmlGpuInstancePlacement_t *placement,
                                                        unsigned int *count)
{
    return placements(__func__, device, profileId, placement, count);
}

/* Memory slices of a GPU that its GPU instances occupy, one bit each. */
static unsigned occupied(const struct gpu *g)
{
    unsigned taken = 0;

    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu == g->index)
            taken |= ((1u << m->profile->memory_slices) - 1) << m->start;
    }
    return taken;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceRemainingCapacity(nvmlDevice_t device, unsigned int profileId,
                                                       unsigned int *count)
{
    struct target t;

    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct mig_profile *p = mig_profile_by_id(t.gpu->profile, profileId);
    if (!t.gpu->mig || p == NULL)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    unsigned taken = occupied(t.gpu), mask = (1u << p->memory_slices) - 1;
    *count = 0;
    for (unsigned start = 0; start < 8; start++)
        if ((p->starts >> start & 1) != 0 && (taken & mask << start) == 0) {
            taken |= mask << start;
            ++*count;
        }
    return leave(NVML_SUCCESS);
}

/* ---- instances ---- */

/* Whether m is the first line of its GPU instance, so that each is met once. */
static bool first_of_instance(const struct mig *m)
{
    for (const struct mig *o = world.state->migs; o < m; o++)
        if (o->gpu == m->gpu && o->gi == m->gi)
            return false;
    return true;
}

nvmlReturn_t nvmlDeviceGetGpuInstances(nvmlDevice_t device, unsigned int profileId,
                                       nvmlGpuInstance_t *gpuInstances, unsigned int *count)
{
    struct target t;
    unsigned n = 0;

    if (gpuInstances == NULL || count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct mig_profile *p = mig_profile_by_id(t.gpu->profile, profileId);
    if (!t.gpu->mig || p == NULL)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu == t.gpu->index && m->profile == p && first_of_instance(m) &&
            n < p->max_instances)
            gpuInstances[n++] = gpu_instance_handle(t.gpu, m->gi);
    }
    *count = n;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetGpuInstanceById(nvmlDevice_t device, unsigned int id,
                                          nvmlGpuInstance_t *gpuInstance)
{
    struct target t;

    if (gpuInstance == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->mig)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu != t.gpu->index || m->gi != id)
            continue;
        *gpuInstance = gpu_instance_handle(t.gpu, id);
        return leave(gpuInstance->handle != NULL ? NVML_SUCCESS
                                                 : NVML_ERROR_INSUFFICIENT_RESOURCES);
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

nvmlReturn_t nvmlGpuInstanceGetInfo(nvmlGpuInstance_t gpuInstance, nvmlGpuInstanceInfo_t *info)
{
    struct target t;

    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *info = (nvmlGpuInstanceInfo_t){
        .device = device_handle(t.gpu, ID_NONE, ID_NONE),
        .id = t.gi,
        .profileId = t.mig->profile->id,
        .placement = {.start = t.mig->start, .size = t.mig->profile->memory_slices},
    };
    return leave(NVML_SUCCESS);
}
