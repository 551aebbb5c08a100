// SPDX-License-Identifier: Apache-2.0

/*
 * Device memory. used = what the processes hold (managed memory included) plus
 * `extra`; the driver's reserve is beside it in v2 and inside it in v1.
 */

#include "mock.h"

#include <string.h>

static uint64_t held_by(const struct target *t)
{
    const struct proc *procs = world.state->procs;
    uint64_t used = 0;

    for (uint32_t i = 0; i < t->gpu->n_procs; i++) {
        const struct proc *p = &procs[t->gpu->first_proc + i];
        if (p->sample_only || !proc_listed(p) || (t->mig != NULL && p->gi != t->mig->gi))
            continue;
        used += p->managed + (p->memory != MEM_UNKNOWN ? p->memory : 0);
    }
    return used;
}

/* `extra` of the GPU instances of a GPU, each counted once. */
static uint64_t instances_extra(const struct gpu *g)
{
    const struct state *s = world.state;
    uint64_t sum = 0;

    for (size_t i = 0; i < s->n_migs; i++) {
        bool first = s->migs[i].gpu == g->index;
        for (size_t j = 0; first && j < i; j++)
            first = s->migs[j].gpu != g->index || s->migs[j].gi != s->migs[i].gi;
        sum += first ? s->migs[i].extra : 0;
    }
    return sum;
}

void memory_of(const struct target *t, uint64_t *total, uint64_t *reserved, uint64_t *used)
{
    *total = t->mig != NULL ? t->mig->memory : t->gpu->memory;
    *reserved = t->mig != NULL ? t->mig->reserved : t->gpu->reserved;
    *used = held_by(t);
    *used += t->mig != NULL ? t->mig->extra : t->gpu->extra + instances_extra(t->gpu);
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
    struct target t;
    uint64_t total, reserved, used;

    if (memory == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->memory_info)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    memory_of(&t, &total, &reserved, &used);
    memory->total = total;
    memory->used = used + reserved;
    memory->free = less(total, used + reserved);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t *memory)
{
    struct target t;
    uint64_t total, reserved, used;

    if (memory == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (memory->version != nvmlMemory_v2)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->memory_info)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    memory_of(&t, &total, &reserved, &used);
    memory->total = total;
    memory->reserved = reserved;
    memory->used = used;
    memory->free = less(total, used + reserved);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, nvmlBAR1Memory_t *bar1Memory)
{
    struct target t;

    if (bar1Memory == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    bar1Memory->bar1Total = 64ull << 30;
    bar1Memory->bar1Used = 1ull << 20;
    bar1Memory->bar1Free = bar1Memory->bar1Total - bar1Memory->bar1Used;
    return leave(NVML_SUCCESS);
}

/* NVML 13.4: the limit and use of one cgroup; a MIG device has none. */
nvmlReturn_t nvmlDeviceGetMemoryLimits_v1(nvmlDevice_t device, nvmlGetMemoryLimits_v1_t *limits)
{
    struct target t;

    if (limits == NULL || limits->nameSpace == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    for (size_t i = 0; i < world.state->n_limits; i++) {
        const struct memory_limit *l = &world.state->limits[i];
        if (l->gpu != t.gpu->index || strcmp(l->cgroup, limits->nameSpace) != 0)
            continue;
        limits->softLimit = l->soft;
        limits->hardLimit = l->hard;
        limits->currentUsed = l->used;
        return leave(NVML_SUCCESS);
    }
    return leave(NVML_ERROR_NOT_FOUND);
}
