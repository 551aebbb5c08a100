// SPDX-License-Identifier: Apache-2.0

/* Lists of running processes, in all their versions. */

#include "mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Field 22 of /proc/PID/stat, 0 when there is no such process. */
static uint64_t start_ticks(uint32_t pid)
{
    char path[64], text[1024];

    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, in);
    fclose(in);
    text[n] = '\0';
    char *field = strrchr(text, ')'); /* the command may hold anything, but no later ')' */
    for (int i = 2; field != NULL && i < 22; i++)
        field = strchr(field + 1, ' ');
    return field != NULL ? strtoull(field, NULL, 10) : 0;
}

/* Whether the driver would list the process: with `option reap=1` only while it lives. */
bool proc_listed(const struct proc *p)
{
    if (!world.state->options.reap || p->zombie)
        return true;
    uint64_t ticks = start_ticks(p->pid);
    return ticks != 0 && (p->start_ticks == 0 || p->start_ticks == ticks);
}

/* A MIG device has its own processes, a GPU those of all its MIG devices. */
bool proc_in_target(const struct proc *p, const struct target *t)
{
    return t->mig == NULL || (p->gi == t->gi && p->ci == t->ci);
}

/* One row of a list, in the widest of the formats. */
typedef void (*put_row)(void *rows, unsigned i, const struct proc *p);

static void put_v1(void *rows, unsigned i, const struct proc *p)
{
    nvmlProcessInfo_v1_t *r = (nvmlProcessInfo_v1_t *)rows + i;

    r->pid = p->pid;
    r->usedGpuMemory = p->memory;
}

static void put_v2(void *rows, unsigned i, const struct proc *p)
{
    nvmlProcessInfo_v2_t *r = (nvmlProcessInfo_v2_t *)rows + i;

    r->pid = p->pid;
    r->usedGpuMemory = p->memory;
    r->gpuInstanceId = p->gi;
    r->computeInstanceId = p->ci;
}

static void put_detail(void *rows, unsigned i, const struct proc *p)
{
    nvmlProcessDetail_v1_t *r = (nvmlProcessDetail_v1_t *)rows + i;

    r->pid = p->pid;
    r->usedGpuMemory = p->memory;
    r->gpuInstanceId = p->gi;
    r->computeInstanceId = p->ci;
    r->usedGpuCcProtectedMemory = p->protected_memory;
}

/* Writes as many rows as there is room for and returns how many there are. */
static unsigned put_rows(const struct target *t, uint32_t kinds, void *rows, unsigned room,
                         put_row put)
{
    unsigned n = 0;

    for (uint32_t i = 0; i < t->gpu->n_procs; i++) {
        const struct proc *p = &world.state->procs[t->gpu->first_proc + i];
        if (p->sample_only || (p->kinds & kinds) == 0 || !proc_in_target(p, t) || !proc_listed(p))
            continue;
        if (rows != NULL && n < room)
            put(rows, n, p);
        n++;
    }
    return n;
}

/* Fills *count and rows; a list that grew since the size was asked is a fault line's doing. */
static nvmlReturn_t list(const char *call, const struct target *t, uint32_t kinds,
                         unsigned int *count, void *rows, put_row put)
{
    unsigned room = rows != NULL ? *count : 0;
    unsigned n = put_rows(t, kinds, rows, room, put);

    if (rows != NULL && n <= room) {
        uint32_t more = fault_grow(t->gpu->index, call);
        if (more > 0)
            n = room + more;
    }
    *count = n;
    return n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}

static nvmlReturn_t running(const char *call, nvmlDevice_t device, uint32_t kinds,
                            unsigned int *count, void *rows, put_row put)
{
    struct target t;

    if (count == NULL || (rows == NULL && *count != 0))
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(list(call, &t, kinds, count, rows, put));
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
                                                  nvmlProcessInfo_v1_t *infos)
{
    return running(__func__, device, PROC_COMPUTE, infoCount, infos, put_v1);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t device, unsigned int *infoCount,
                                                     nvmlProcessInfo_v2_t *infos)
{
    return running(__func__, device, PROC_COMPUTE, infoCount, infos, put_v2);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
                                                     nvmlProcessInfo_t *infos)
{
    return running(__func__, device, PROC_COMPUTE, infoCount, infos, put_v2);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
                                                   nvmlProcessInfo_v1_t *infos)
{
    return running(__func__, device, PROC_GRAPHICS, infoCount, infos, put_v1);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t device, unsigned int *infoCount,
                                                      nvmlProcessInfo_v2_t *infos)
{
    return running(__func__, device, PROC_GRAPHICS, infoCount, infos, put_v2);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t device, unsigned int *infoCount,
                                                      nvmlProcessInfo_t *infos)
{
    return running(__func__, device, PROC_GRAPHICS, infoCount, infos, put_v2);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t device, unsigned int *infoCount,
                                                     nvmlProcessInfo_v1_t *infos)
{
    return running(__func__, device, PROC_MPS, infoCount, infos, put_v1);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t device,
                                                        unsigned int *infoCount,
                                                        nvmlProcessInfo_v2_t *infos)
{
    return running(__func__, device, PROC_MPS, infoCount, infos, put_v2);
}

nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t device,
                                                        unsigned int *infoCount,
                                                        nvmlProcessInfo_t *infos)
{
    return running(__func__, device, PROC_MPS, infoCount, infos, put_v2);
}

/* All kinds in one call, from Hopper on. */
nvmlReturn_t nvmlDeviceGetRunningProcessDetailList(nvmlDevice_t device,
                                                   nvmlProcessDetailList_t *plist)
{
    static const uint32_t kinds[NVML_PROCESS_MODE_MAX] = {
        [NVML_PROCESS_MODE_COMPUTE] = PROC_COMPUTE,
        [NVML_PROCESS_MODE_GRAPHICS] = PROC_GRAPHICS,
        [NVML_PROCESS_MODE_MPS] = PROC_MPS,
        [NVML_PROCESS_MODE_ALL] = PROC_COMPUTE | PROC_GRAPHICS | PROC_MPS,
    };
    struct target t;

    if (plist == NULL || plist->mode >= NVML_PROCESS_MODE_MAX)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (plist->version != nvmlProcessDetailList_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.gpu->arch < NVML_DEVICE_ARCH_HOPPER)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    return leave(list(__func__, &t, kinds[plist->mode], &plist->numProcArrayEntries,
                      plist->procArray, put_detail));
}
