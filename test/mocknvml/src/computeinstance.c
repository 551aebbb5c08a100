// SPDX-License-Identifier: Apache-2.0

/*
 * Compute instances of a GPU instance. Their profiles follow from its slices: a
 * GPU instance of n slices can be cut into compute instances of 1, 2, 3, 4 or 7
 * slices, as far as they are not more than n and, unless they are all of it, not
 * more than half of it rounded up.
 */

#include "mock.h"

#include <stdio.h>
#include <string.h>

/* Slices of the compute instance profile with this index, 0: no such profile. */
static unsigned slices_of(unsigned profile)
{
    switch (profile) {
    case NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE: return 1;
    case NVML_COMPUTE_INSTANCE_PROFILE_2_SLICE: return 2;
    case NVML_COMPUTE_INSTANCE_PROFILE_3_SLICE: return 3;
    case NVML_COMPUTE_INSTANCE_PROFILE_4_SLICE: return 4;
    case NVML_COMPUTE_INSTANCE_PROFILE_7_SLICE: return 7;
    default: return 0;
    }
}

/* Profile id of a compute instance: NVML's are the profile's index. */
static unsigned profile_of_slices(unsigned slices)
{
    for (unsigned p = 0; p < NVML_COMPUTE_INSTANCE_PROFILE_COUNT; p++)
        if (slices_of(p) == slices)
            return p;
    return NVML_COMPUTE_INSTANCE_PROFILE_1_SLICE;
}

static bool offers(const struct mig_profile *gi, unsigned slices)
{
    return slices != 0 && (slices == gi->slices || slices <= (gi->slices + 1) / 2);
}

static void put_profile(const struct mig_profile *gi, unsigned profile,
                        nvmlComputeInstanceProfileInfo_t *out)
{
    unsigned slices = slices_of(profile);

    *out = (nvmlComputeInstanceProfileInfo_t){
        .id = profile, .sliceCount = slices, .instanceCount = gi->slices / slices,
        .multiprocessorCount = gi->sms * slices / gi->slices,
        .sharedCopyEngineCount = gi->copy_engines, .sharedDecoderCount = gi->decoders,
        .sharedJpegCount = gi->jpeg, .sharedOfaCount = gi->ofa,
    };
}

static void put_name(const struct mig_profile *gi, unsigned profile, char *out, size_t size)
{
    unsigned slices = slices_of(profile);

    if (slices == gi->slices)
        snprintf(out, size, "MIG %s", gi->name);
    else
        snprintf(out, size, "MIG %uc.%s", slices, gi->name);
}

static void put_profile_v2(const struct mig_profile *gi, unsigned profile,
                           nvmlComputeInstanceProfileInfo_v2_t *out)
{
    nvmlComputeInstanceProfileInfo_t v1;

    put_profile(gi, profile, &v1);
    *out = (nvmlComputeInstanceProfileInfo_v2_t){
        .version = out->version, .id = v1.id, .sliceCount = v1.sliceCount,
        .instanceCount = v1.instanceCount, .multiprocessorCount = v1.multiprocessorCount,
        .sharedCopyEngineCount = v1.sharedCopyEngineCount,
        .sharedDecoderCount = v1.sharedDecoderCount, .sharedJpegCount = v1.sharedJpegCount,
        .sharedOfaCount = v1.sharedOfaCount,
    };
    put_name(gi, profile, out->name, sizeof out->name);
}

static void put_profile_v3(const struct mig_profile *gi, unsigned profile,
                           nvmlComputeInstanceProfileInfo_v3_t *out)
{
    nvmlComputeInstanceProfileInfo_t v1;

    put_profile(gi, profile, &v1);
    *out = (nvmlComputeInstanceProfileInfo_v3_t){
        .version = out->version, .id = v1.id, .sliceCount = v1.sliceCount,
        .instanceCount = v1.instanceCount, .multiprocessorCount = v1.multiprocessorCount,
        .sharedCopyEngineCount = v1.sharedCopyEngineCount,
        .sharedDecoderCount = v1.sharedDecoderCount, .sharedJpegCount = v1.sharedJpegCount,
        .sharedOfaCount = v1.sharedOfaCount,
    };
    put_name(gi, profile, out->name, sizeof out->name);
}

static bool bad_profile(unsigned profile, unsigned engine)
{
    return profile >= NVML_COMPUTE_INSTANCE_PROFILE_COUNT ||
           engine >= NVML_COMPUTE_INSTANCE_ENGINE_PROFILE_COUNT;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfo(nvmlGpuInstance_t gpuInstance,
                                                          unsigned int profile,
                                                          unsigned int engProfile,
                                                          nvmlComputeInstanceProfileInfo_t *info)
{
    struct target t;

    if (info == NULL || bad_profile(profile, engProfile))
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!offers(t.mig->profile, slices_of(profile)))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    put_profile(t.mig->profile, profile, info);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceProfileInfoV(
    nvmlGpuInstance_t gpuInstance, unsigned int profile, unsigned int engProfile,
    nvmlComputeInstanceProfileInfo_v2_t *info)
{
    struct target t;

    if (info == NULL || bad_profile(profile, engProfile))
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlComputeInstanceProfileInfo_v2 &&
        info->version != nvmlComputeInstanceProfileInfo_v3)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!offers(t.mig->profile, slices_of(profile)))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    if (info->version == nvmlComputeInstanceProfileInfo_v2)
        put_profile_v2(t.mig->profile, profile, info);
    else
        put_profile_v3(t.mig->profile, profile, (nvmlComputeInstanceProfileInfo_v3_t *)(void *)info);
    return leave(NVML_SUCCESS);
}

/* Compute slices of t's GPU instance that are taken. */
static unsigned slices_taken(const struct target *t)
{
    unsigned taken = 0;

    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu == t->gpu->index && m->gi == t->gi && m->ci != ID_NONE)
            taken += m->ci_slices;
    }
    return taken;
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceRemainingCapacity(nvmlGpuInstance_t gpuInstance,
                                                                unsigned int profileId,
                                                                unsigned int *count)
{
    struct target t;

    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!offers(t.mig->profile, slices_of(profileId)))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *count = (t.mig->profile->slices - slices_taken(&t)) / slices_of(profileId);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstancePossiblePlacements(
    nvmlGpuInstance_t gpuInstance, unsigned int profileId, nvmlComputeInstancePlacement_t *out,
    unsigned int *count)
{
    struct target t;
    unsigned n = 0;

    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    unsigned slices = slices_of(profileId);
    if (!offers(t.mig->profile, slices))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (unsigned start = 0; start + slices <= t.mig->profile->slices; start += slices) {
        if (out != NULL && n < *count)
            out[n] = (nvmlComputeInstancePlacement_t){.start = start, .size = slices};
        n++;
    }
    bool fits = out == NULL || n <= *count;
    *count = n;
    return leave(fits ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstances(nvmlGpuInstance_t gpuInstance,
                                                unsigned int profileId,
                                                nvmlComputeInstance_t *computeInstances,
                                                unsigned int *count)
{
    struct target t;
    unsigned n = 0;

    if (computeInstances == NULL || count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    unsigned slices = slices_of(profileId);
    if (!offers(t.mig->profile, slices))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu == t.gpu->index && m->gi == t.gi && m->ci != ID_NONE && m->ci_slices == slices)
            computeInstances[n++] = compute_instance_handle(t.gpu, m->gi, m->ci);
    }
    *count = n;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpuInstanceGetComputeInstanceById(nvmlGpuInstance_t gpuInstance, unsigned int id,
                                                   nvmlComputeInstance_t *computeInstance)
{
    struct target t;

    if (computeInstance == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu_instance(__func__, gpuInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    for (size_t i = 0; i < world.state->n_migs; i++) {
        const struct mig *m = &world.state->migs[i];
        if (m->gpu != t.gpu->index || m->gi != t.gi || m->ci != id || id == ID_NONE)
            continue;
        *computeInstance = compute_instance_handle(t.gpu, m->gi, m->ci);
        return leave(computeInstance->handle != NULL ? NVML_SUCCESS
                                                     : NVML_ERROR_INSUFFICIENT_RESOURCES);
    }
    return leave(NVML_ERROR_NOT_FOUND);
}

static nvmlReturn_t instance_info(const char *call, nvmlComputeInstance_t computeInstance,
                                  nvmlComputeInstanceInfo_t *info)
{
    struct target t;

    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_compute_instance(call, computeInstance, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *info = (nvmlComputeInstanceInfo_t){
        .device = device_handle(t.gpu, ID_NONE, ID_NONE),
        .gpuInstance = gpu_instance_handle(t.gpu, t.gi),
        .id = t.ci,
        .profileId = profile_of_slices(t.mig->ci_slices),
        .placement = {.start = t.mig->ci_start, .size = t.mig->ci_slices},
    };
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlComputeInstanceGetInfo_v2(nvmlComputeInstance_t computeInstance,
                                           nvmlComputeInstanceInfo_t *info)
{
    return instance_info(__func__, computeInstance, info);
}

nvmlReturn_t nvmlComputeInstanceGetInfo(nvmlComputeInstance_t computeInstance,
                                        nvmlComputeInstanceInfo_t *info)
{
    return instance_info(__func__, computeInstance, info);
}
