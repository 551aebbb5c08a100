// SPDX-License-Identifier: Apache-2.0

/*
 * Event sets. Each set gets every `event` line of the GPUs and types it is
 * registered for once, by (GPU, seq), the oldest seq first. Lines with `past=1`
 * that were there when the set registered happened before and are not delivered.
 */

#include "mock.h"

#include <stdlib.h>
#include <string.h>

/*
 * How often a waiting call looks whether the state file has a new event. A look is
 * a stat(); a real driver wakes the waiter. More often costs CPU that a client
 * under measurement would be blamed for.
 */
enum { POLL_MS = 250 };

struct delivered {
    uint32_t slot;
    uint64_t seq;
};

struct nvmlEventSet_st {
    struct nvmlEventSet_st *next;
    unsigned long long types[MAX_GPUS]; /* registered types by slot */
    struct delivered *delivered;
    size_t n_delivered;
};

static struct nvmlEventSet_st *sets; /* all that exist, guarded by the lock */

static bool known_set(const struct nvmlEventSet_st *set)
{
    for (const struct nvmlEventSet_st *s = sets; s != NULL; s = s->next)
        if (s == set)
            return true;
    return false;
}

static void free_set(struct nvmlEventSet_st *set)
{
    free(set->delivered);
    free(set);
}

void events_forget(void)
{
    while (sets != NULL) {
        struct nvmlEventSet_st *set = sets;
        sets = set->next;
        free_set(set);
    }
}

nvmlReturn_t nvmlEventSetCreate(nvmlEventSet_t *set)
{
    if (set == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    set->handle = calloc(1, sizeof *set->handle);
    if (set->handle == NULL)
        return leave(NVML_ERROR_MEMORY);
    set->handle->next = sets;
    sets = set->handle;
    return leave(NVML_SUCCESS);
}

/* Works in spite of faults: it only gives memory back. */
nvmlReturn_t nvmlEventSetFree(nvmlEventSet_t set)
{
    world_lock();
    for (struct nvmlEventSet_st **at = &sets; *at != NULL; at = &(*at)->next) {
        if (*at != set.handle)
            continue;
        *at = set.handle->next;
        free_set(set.handle);
        return leave(NVML_SUCCESS);
    }
    return leave(NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t nvmlDeviceGetSupportedEventTypes(nvmlDevice_t device, unsigned long long *eventTypes)
{
    struct target t;

    if (eventTypes == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *eventTypes = nvmlEventTypeXidCriticalError | nvmlEventTypePState |
                  nvmlEventTypeGpuUnavailableError | nvmlEventTypeGpuRecoveryAction;
    if (t.gpu->ecc)
        *eventTypes |= nvmlEventTypeSingleBitEccError | nvmlEventTypeDoubleBitEccError;
    if (t.gpu->profile->max_migs > 0)
        *eventTypes |= nvmlEventMigConfigChange;
    return leave(NVML_SUCCESS);
}

static bool was_delivered(const struct nvmlEventSet_st *set, uint32_t slot, uint64_t seq)
{
    for (size_t i = 0; i < set->n_delivered; i++)
        if (set->delivered[i].slot == slot && set->delivered[i].seq == seq)
            return true;
    return false;
}

static bool mark_delivered(struct nvmlEventSet_st *set, uint32_t slot, uint64_t seq)
{
    size_t n = set->n_delivered;
    struct delivered *more = realloc(set->delivered, (n + 1) * sizeof *more);

    if (more == NULL)
        return false;
    more[n] = (struct delivered){.slot = slot, .seq = seq};
    set->delivered = more;
    set->n_delivered = n + 1;
    return true;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long eventTypes,
                                      nvmlEventSet_t set)
{
    struct target t;

    if (set.handle == NULL || (eventTypes & ~(unsigned long long)nvmlEventTypeAll) != 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t); /* a MIG device cannot register */
    if (rc != NVML_SUCCESS)
        return rc;
    if (!known_set(set.handle))
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    set.handle->types[t.gpu->slot] |= eventTypes;
    for (size_t i = 0; i < world.state->n_events; i++) {
        const struct event *e = &world.state->events[i];
        if (e->gpu == t.gpu->index && e->past && !was_delivered(set.handle, t.gpu->slot, e->seq) &&
            !mark_delivered(set.handle, t.gpu->slot, e->seq))
            return leave(NVML_ERROR_MEMORY);
    }
    return leave(NVML_SUCCESS);
}

/* The undelivered event with the lowest seq, NULL when there is none. */
static const struct event *next_event(const struct nvmlEventSet_st *set)
{
    const struct event *found = NULL;

    for (size_t i = 0; i < world.state->n_events; i++) {
        const struct event *e = &world.state->events[i];
        uint32_t slot = world.state->gpus[e->gpu].slot;
        if ((set->types[slot] & e->type) != 0 && !was_delivered(set, slot, e->seq) &&
            (found == NULL || e->seq < found->seq))
            found = e;
    }
    return found;
}

static nvmlReturn_t put_event(struct nvmlEventSet_st *set, const struct event *e,
                              nvmlEventData_t *data)
{
    const struct gpu *g = &world.state->gpus[e->gpu];

    if (!mark_delivered(set, g->slot, e->seq))
        return NVML_ERROR_MEMORY;
    *data = (nvmlEventData_t){
        .device = device_handle(g, ID_NONE, ID_NONE),
        .eventType = e->type,
        .eventData = e->data,
        .gpuInstanceId = e->gi,
        .computeInstanceId = e->ci,
    };
    return NVML_SUCCESS;
}

/* One look at the state; TIMEOUT when there is nothing yet. */
static nvmlReturn_t poll_event(const char *call, nvmlEventSet_t set, nvmlEventData_t *data)
{
    nvmlReturn_t rc = enter_system(call);

    if (rc != NVML_SUCCESS)
        return rc;
    if (!known_set(set.handle))
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    const struct event *e = next_event(set.handle);
    return leave(e != NULL ? put_event(set.handle, e, data) : NVML_ERROR_TIMEOUT);
}

static nvmlReturn_t wait_event(const char *call, nvmlEventSet_t set, nvmlEventData_t *data,
                               unsigned int timeoutms)
{
    uint64_t deadline = uptime_ms() + timeoutms;

    if (set.handle == NULL || data == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    for (;;) {
        nvmlReturn_t rc = poll_event(call, set, data);
        uint64_t now = uptime_ms();
        if (rc != NVML_ERROR_TIMEOUT || now >= deadline)
            return rc;
        sleep_ms(deadline - now < POLL_MS ? (unsigned)(deadline - now) : POLL_MS);
    }
}

nvmlReturn_t nvmlEventSetWait_v2(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    return wait_event(__func__, set, data, timeoutms);
}

nvmlReturn_t nvmlEventSetWait(nvmlEventSet_t set, nvmlEventData_t *data, unsigned int timeoutms)
{
    return wait_event(__func__, set, data, timeoutms);
}

nvmlReturn_t nvmlEventSetWait_v3(nvmlEventSet_t set, nvmlEventSetWait_v3_t *params)
{
    nvmlEventData_t data;

    if (params == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = wait_event(__func__, set, &data, params->timeoutMs);
    if (rc != NVML_SUCCESS)
        return rc;
    *params = (nvmlEventSetWait_v3_t){
        .timeoutMs = params->timeoutMs,
        .dataType = NVML_EVENT_DATA_TYPE_NVML_EVENT,
        .eventType = data.eventType,
        .eventData = data.eventData,
        .gpuInstanceId = data.gpuInstanceId,
        .computeInstanceId = data.computeInstanceId,
    };
    return nvmlDeviceGetUUID(data.device, params->uuid, sizeof params->uuid);
}
