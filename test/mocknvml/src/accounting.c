// SPDX-License-Identifier: Apache-2.0

/*
 * Accounting: what each process used at most, kept after it ended.
 *
 * Two sources: processes this library saw in the state file while accounting was
 * on (followed from one reading to the next), and `acct` lines for processes that
 * lived between two readings.
 */

#include "mock.h"

#include <stdlib.h>
#include <string.h>

struct tracked {
    uint32_t pid;
    bool running;
    uint64_t max_memory, start_us, time_ms, ended_us;
    uint32_t sm, mem_util;
};

void accounting_forget(struct slot *s)
{
    free(s->tracked);
    s->tracked = NULL;
    s->n_tracked = 0;
}

static struct tracked *find_tracked(struct slot *s, uint32_t pid)
{
    for (size_t i = 0; i < s->n_tracked; i++)
        if (s->tracked[i].pid == pid)
            return &s->tracked[i];
    return NULL;
}

/* The entry to give up when the ring is full: the process that ended first. */
static struct tracked *oldest(struct slot *s)
{
    struct tracked *found = NULL;

    for (size_t i = 0; i < s->n_tracked; i++) {
        struct tracked *e = &s->tracked[i];
        if (!e->running && (found == NULL || e->ended_us < found->ended_us))
            found = e;
    }
    return found;
}

static struct tracked *new_tracked(struct slot *s, uint32_t limit)
{
    if (s->n_tracked >= limit) {
        struct tracked *e = oldest(s);
        if (e != NULL)
            return e;
    }
    struct tracked *more = realloc(s->tracked, (s->n_tracked + 1) * sizeof *more);
    if (more == NULL)
        return NULL;
    s->tracked = more;
    return &s->tracked[s->n_tracked++];
}

/* Takes a listed process in; a pid that comes back after its end starts anew. */
static void follow(struct slot *s, const struct gpu *g, const struct proc *p, uint64_t now)
{
    struct tracked *e = find_tracked(s, p->pid);

    if (e == NULL || !e->running) {
        if (e == NULL)
            e = new_tracked(s, g->accounting_size);
        if (e == NULL)
            return;
        *e = (struct tracked){.pid = p->pid, .running = true, .start_us = now};
    }
    if (p->memory == MEM_UNKNOWN || p->memory > e->max_memory)
        e->max_memory = p->memory;
    e->sm = p->sm;
    e->mem_util = p->mem_util;
}

static bool still_listed(const struct gpu *g, uint32_t pid)
{
    for (uint32_t i = 0; i < g->n_procs; i++) {
        const struct proc *p = &world.state->procs[g->first_proc + i];
        if (p->pid == pid && !p->sample_only)
            return proc_listed(p);
    }
    return false;
}

static void update_gpu(struct slot *s, const struct gpu *g, uint64_t now)
{
    for (uint32_t i = 0; i < g->n_procs; i++) {
        const struct proc *p = &world.state->procs[g->first_proc + i];
        if (!p->sample_only && proc_listed(p))
            follow(s, g, p, now);
    }
    for (size_t i = 0; i < s->n_tracked; i++) {
        struct tracked *e = &s->tracked[i];
        if (!e->running || still_listed(g, e->pid))
            continue;
        e->running = false;
        e->ended_us = now;
        e->time_ms = (now - e->start_us) / 1000;
    }
}

void accounting_update(void)
{
    uint64_t now = now_us();

    for (size_t i = 0; i < world.state->n_gpus; i++) {
        const struct gpu *g = &world.state->gpus[i];
        if (g->accounting)
            update_gpu(&world.slots[g->slot], g, now);
        else
            accounting_forget(&world.slots[g->slot]);
    }
}

/* ---- calls ---- */

/* Like enter_gpu; accounting must be on, and processes that died are noticed now. */
static nvmlReturn_t enter_accounting(const char *call, nvmlDevice_t device, struct target *t)
{
    nvmlReturn_t rc = enter_gpu(call, device, t);

    if (rc != NVML_SUCCESS)
        return rc;
    if (!t->gpu->accounting)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    if (world.state->options.reap)
        update_gpu(&world.slots[t->gpu->slot], t->gpu, now_us());
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAccountingMode(nvmlDevice_t device, nvmlEnableState_t *mode)
{
    struct target t;

    if (mode == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *mode = t.gpu->accounting ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAccountingBufferSize(nvmlDevice_t device, unsigned int *bufferSize)
{
    struct target t;

    if (bufferSize == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_accounting(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *bufferSize = t.gpu->accounting_size;
    return leave(NVML_SUCCESS);
}

static const struct acct *find_acct(const struct gpu *g, uint32_t pid)
{
    const struct acct *found = NULL;

    for (size_t i = 0; i < world.state->n_accts; i++) {
        const struct acct *a = &world.state->accts[i];
        if (a->gpu == g->index && a->pid == pid)
            found = a; /* the last line of a pid is the latest process */
    }
    return found;
}

/* Writes a pid if there is room; the lists here are short and without doubles. */
static void put_pid(unsigned *n, unsigned room, unsigned *pids, uint32_t pid)
{
    if (pids != NULL && *n < room)
        pids[*n] = pid;
    ++*n;
}

nvmlReturn_t nvmlDeviceGetAccountingPids(nvmlDevice_t device, unsigned int *count,
                                         unsigned int *pids)
{
    struct target t;
    unsigned n = 0;

    if (count == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    unsigned room = pids != NULL ? *count : 0;
    nvmlReturn_t rc = enter_accounting(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    struct slot *s = &world.slots[t.gpu->slot];
    for (size_t i = 0; i < s->n_tracked; i++)
        put_pid(&n, room, pids, s->tracked[i].pid);
    for (size_t i = 0; i < world.state->n_accts; i++) {
        const struct acct *a = &world.state->accts[i];
        if (a->gpu == t.gpu->index && find_acct(t.gpu, a->pid) == a &&
            find_tracked(s, a->pid) == NULL)
            put_pid(&n, room, pids, a->pid);
    }
    *count = n;
    return leave(n > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS);
}

/* The figures of one process in the wider of the two formats. */
static nvmlReturn_t stats_of(const struct gpu *g, uint32_t pid, nvmlAccountingStats_v2_t *out)
{
    const struct tracked *e = find_tracked(&world.slots[g->slot], pid);
    const struct acct *a = find_acct(g, pid);
    unsigned unavailable = (unsigned)NVML_VALUE_NOT_AVAILABLE;

    *out = (nvmlAccountingStats_v2_t){.pid = pid};
    if (e != NULL && (e->running || a == NULL)) {
        out->isRunning = e->running;
        out->gpuUtilization = g->mig ? unavailable : e->sm;
        out->memoryUtilization = g->mig ? unavailable : e->mem_util;
        out->maxMemoryUsage = e->max_memory;
        out->time = e->running ? 0 : e->time_ms;
        out->startTime = e->start_us;
        return NVML_SUCCESS;
    }
    if (a == NULL)
        return NVML_ERROR_NOT_FOUND;
    out->gpuUtilization = g->mig ? unavailable : a->gpu_util;
    out->memoryUtilization = g->mig ? unavailable : a->mem_util;
    out->maxMemoryUsage = a->max_memory;
    out->sampleCount = a->samples;
    out->sumGpuUtil = 100ull * a->gpu_util * a->samples;
    out->sumFbUtil = 100ull * a->mem_util * a->samples;
    out->time = a->time_ms;
    out->startTime = a->start_us;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAccountingStats(nvmlDevice_t device, unsigned int pid,
                                          nvmlAccountingStats_t *stats)
{
    nvmlAccountingStats_v2_t v2;
    struct target t;

    if (stats == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_accounting(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    rc = stats_of(t.gpu, pid, &v2);
    if (rc != NVML_SUCCESS)
        return leave(rc);
    *stats = (nvmlAccountingStats_t){
        .gpuUtilization = v2.gpuUtilization, .memoryUtilization = v2.memoryUtilization,
        .maxMemoryUsage = v2.maxMemoryUsage, .time = v2.time, .startTime = v2.startTime,
        .isRunning = v2.isRunning,
    };
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetAccountingStats_v2(nvmlDevice_t device, nvmlAccountingStats_v2_t *stats)
{
    nvmlAccountingStats_v2_t found;
    struct target t;

    if (stats == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_accounting(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    rc = stats_of(t.gpu, stats->pid, &found);
    if (rc == NVML_SUCCESS)
        *stats = found;
    return leave(rc);
}
