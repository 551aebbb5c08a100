// SPDX-License-Identifier: Apache-2.0

/*
 * What the process remembers, and how every call begins and ends.
 *
 * Handles are addresses inside this library, one per (GPU, GPU instance, compute
 * instance). As with the real library, the handle of a MIG device that was
 * destroyed means the new one when the ids are used again.
 */

#include "mock.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum { MAX_HANDLES = 8192 };

struct world world;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct handle handles[MAX_HANDLES];
static unsigned n_handles;
static char state_path[4096];
static struct stat state_stat;   /* of the last reading, good or bad */

void world_lock(void)
{
    pthread_mutex_lock(&lock);
}

void world_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

nvmlReturn_t leave(nvmlReturn_t rc)
{
    world_unlock();
    return rc;
}

uint64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

uint64_t uptime_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

void sleep_ms(unsigned ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&t, &t) != 0 && errno == EINTR)
        ;
}

nvmlReturn_t copy_text(char *out, unsigned size, const char *text)
{
    size_t n = strlen(text);

    if (n >= size)
        return NVML_ERROR_INSUFFICIENT_SIZE;
    memcpy(out, text, n + 1);
    return NVML_SUCCESS;
}

/* ---- reading the state file ---- */

uint32_t world_slot(const char *uuid)
{
    for (uint32_t i = 0; i < world.n_slots; i++)
        if (strcmp(world.slots[i].uuid, uuid) == 0)
            return i;
    if (world.n_slots == MAX_GPUS)
        return GPU_NONE;
    memcpy(world.slots[world.n_slots].uuid, uuid, strlen(uuid) + 1);
    return world.n_slots++;
}

/* Gives every GPU of a new state its slot; false when there are too many GPUs over time. */
static bool give_slots(struct state *s)
{
    for (size_t i = 0; i < s->n_gpus; i++) {
        s->gpus[i].slot = world_slot(s->gpus[i].uuid);
        if (s->gpus[i].slot == GPU_NONE) {
            fprintf(stderr, "mocknvml: more than %d different GPUs in one process\n", MAX_GPUS);
            return false;
        }
    }
    return true;
}

static void take_state(struct state *new)
{
    if (!give_slots(new)) {
        state_free(new);
        return;
    }
    faults_carry(world.state, new);
    struct state *old = world.state;
    world.state = new;
    state_free(old);
    energy_update();
    accounting_update();
}

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_ino == b->st_ino && a->st_dev == b->st_dev && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Reads the state file if it changed. A file that is gone or wrong changes nothing. */
static void reload(void)
{
    struct stat now;

    if (stat(state_path, &now) != 0 || (world.state != NULL && same_file(&now, &state_stat)))
        return;
    state_stat = now;
    struct state *new = state_read(state_path);
    if (new != NULL)
        take_state(new);
}

nvmlReturn_t world_refresh(void)
{
    if (world.init_count == 0)
        return NVML_ERROR_UNINITIALIZED;
    reload();
    if (!world.state->options.driver_loaded)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    if (strcmp(world.state->options.driver, world.driver_at_init) != 0)
        return NVML_ERROR_LIB_RM_VERSION_MISMATCH;
    return NVML_SUCCESS;
}

/* ---- calls ---- */

static struct gpu *gpu_of_slot(uint32_t slot)
{
    for (size_t i = 0; i < world.state->n_gpus; i++)
        if (world.state->gpus[i].slot == slot)
            return &world.state->gpus[i];
    return NULL;
}

/* Takes the lock with a fresh state and no fault in the way; slot may be GPU_NONE. */
static nvmlReturn_t enter(const char *call, uint32_t slot, struct gpu **gpu)
{
    bool slept = false;

    for (;;) {
        nvmlReturn_t code = NVML_SUCCESS;
        uint32_t ms = 10;

        world_lock();
        nvmlReturn_t rc = world_refresh();
        if (rc != NVML_SUCCESS)
            return leave(rc);
        *gpu = slot != GPU_NONE ? gpu_of_slot(slot) : NULL;
        if (slot != GPU_NONE && *gpu == NULL)
            return leave(NVML_ERROR_GPU_IS_LOST);
        switch (fault_gate(*gpu != NULL ? (*gpu)->index : GPU_NONE, call, slept, &code, &ms)) {
        case GATE_OPEN:
            return NVML_SUCCESS;
        case GATE_RETURN:
            return leave(code);
        case GATE_SLOW:
            slept = true;
            break;
        case GATE_HANG:
            break; /* ms is how often a hung call looks whether the fault is gone */
        }
        world_unlock();
        sleep_ms(ms);
    }
}

nvmlReturn_t enter_system(const char *call)
{
    struct gpu *none;

    return enter(call, GPU_NONE, &none);
}

nvmlReturn_t enter_slot(const char *call, uint32_t slot, struct target *t)
{
    t->mig = NULL;
    t->gi = t->ci = ID_NONE;
    return enter(call, slot, &t->gpu);
}

/* Whether a client's handle is one of ours. A handle in use never changes again. */
static nvmlReturn_t check_handle(const struct handle *h, enum handle_kind kind)
{
    uintptr_t offset = (uintptr_t)h - (uintptr_t)handles;

    world_lock();
    if (world.init_count == 0)
        return leave(NVML_ERROR_UNINITIALIZED);
    if (offset >= sizeof handles || offset % sizeof *h != 0 || h->kind != kind)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    return leave(NVML_SUCCESS);
}

static nvmlReturn_t enter_handle(const char *call, const void *handle, enum handle_kind kind,
                                 struct target *t)
{
    const struct handle *h = handle;
    nvmlReturn_t rc = check_handle(h, kind);

    if (rc != NVML_SUCCESS)
        return rc;
    rc = enter_slot(call, h->slot, t);
    if (rc != NVML_SUCCESS)
        return rc;
    t->gi = h->gi;
    t->ci = h->ci;
    if (t->gi == ID_NONE)
        return NVML_SUCCESS;
    for (size_t i = 0; i < world.state->n_migs && t->mig == NULL; i++) {
        struct mig *m = &world.state->migs[i];
        if (m->gpu == t->gpu->index && m->gi == t->gi && (t->ci == ID_NONE || m->ci == t->ci))
            t->mig = m;
    }
    return t->mig != NULL ? NVML_SUCCESS : leave(NVML_ERROR_INVALID_ARGUMENT);
}

nvmlReturn_t enter_device(const char *call, nvmlDevice_t device, struct target *t)
{
    return enter_handle(call, device.handle, HANDLE_DEVICE, t);
}

nvmlReturn_t enter_gpu(const char *call, nvmlDevice_t device, struct target *t)
{
    nvmlReturn_t rc = enter_device(call, device, t);

    if (rc == NVML_SUCCESS && t->mig != NULL)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    return rc;
}

nvmlReturn_t enter_gpu_instance(const char *call, nvmlGpuInstance_t gi, struct target *t)
{
    return enter_handle(call, gi.handle, HANDLE_GPU_INSTANCE, t);
}

nvmlReturn_t enter_compute_instance(const char *call, nvmlComputeInstance_t ci, struct target *t)
{
    return enter_handle(call, ci.handle, HANDLE_COMPUTE_INSTANCE, t);
}

/* ---- handles ---- */

static struct handle *intern(enum handle_kind kind, uint32_t slot, uint32_t gi, uint32_t ci)
{
    for (unsigned i = 0; i < n_handles; i++) {
        struct handle *h = &handles[i];
        if (h->kind == kind && h->slot == slot && h->gi == gi && h->ci == ci)
            return h;
    }
    if (n_handles == MAX_HANDLES)
        return NULL;
    struct handle *h = &handles[n_handles++];
    *h = (struct handle){.kind = kind, .slot = slot, .gi = gi, .ci = ci};
    return h;
}

nvmlDevice_t device_handle(const struct gpu *g, uint32_t gi, uint32_t ci)
{
    return (nvmlDevice_t){(struct nvmlDevice_st *)intern(HANDLE_DEVICE, g->slot, gi, ci)};
}

nvmlGpuInstance_t gpu_instance_handle(const struct gpu *g, uint32_t gi)
{
    struct handle *h = intern(HANDLE_GPU_INSTANCE, g->slot, gi, ID_NONE);

    return (nvmlGpuInstance_t){(struct nvmlGpuInstance_st *)h};
}

nvmlComputeInstance_t compute_instance_handle(const struct gpu *g, uint32_t gi, uint32_t ci)
{
    struct handle *h = intern(HANDLE_COMPUTE_INSTANCE, g->slot, gi, ci);

    return (nvmlComputeInstance_t){(struct nvmlComputeInstance_st *)h};
}

/* ---- start and end ---- */

static void reset_counters(void)
{
    for (unsigned i = 0; i < world.n_slots; i++) {
        energy_reset(&world.slots[i]);
        accounting_forget(&world.slots[i]);
    }
}

static void find_state_path(void)
{
    const char *path = getenv("MOCK_NVML_STATE");

    snprintf(state_path, sizeof state_path, "%s",
             path != NULL && path[0] != '\0' ? path : "/var/lib/mock-nvml/state");
}

/* Starts the library: reads the state and remembers the driver version it met. */
static nvmlReturn_t start(void)
{
    char path_before[sizeof state_path];

    memcpy(path_before, state_path, sizeof state_path);
    find_state_path();
    if (strcmp(path_before, state_path) != 0) { /* another file: nothing of the old one counts */
        reset_counters();
        state_free(world.state);
        world.state = NULL;
    }
    reload();
    struct stat now;
    if (world.state == NULL || !world.state->options.driver_loaded || stat(state_path, &now) != 0)
        return NVML_ERROR_DRIVER_NOT_LOADED;
    if (strcmp(world.driver_at_init, world.state->options.driver) != 0) {
        reset_counters(); /* they live in the driver */
        memcpy(world.driver_at_init, world.state->options.driver, sizeof world.driver_at_init);
        energy_update();
        accounting_update();
    }
    return NVML_SUCCESS;
}

static nvmlReturn_t initialise(const char *call)
{
    bool slept = false;

    for (;;) {
        nvmlReturn_t code = NVML_SUCCESS;
        uint32_t ms = 10;

        world_lock();
        nvmlReturn_t rc = world.init_count == 0 ? start() : world_refresh();
        if (rc != NVML_SUCCESS)
            return leave(rc);
        enum gate gate = fault_gate(GPU_NONE, call, slept, &code, &ms);
        if (gate == GATE_RETURN)
            return leave(code);
        if (gate == GATE_OPEN) {
            world.init_count++;
            return leave(NVML_SUCCESS);
        }
        slept = gate == GATE_SLOW;
        world_unlock();
        sleep_ms(ms);
    }
}

nvmlReturn_t nvmlInit_v2(void)
{
    return initialise(__func__);
}

nvmlReturn_t nvmlInit(void)
{
    return initialise(__func__);
}

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    (void)flags;
    return initialise(__func__);
}

nvmlReturn_t nvmlShutdown(void)
{
    world_lock();
    if (world.init_count == 0)
        return leave(NVML_ERROR_UNINITIALIZED);
    if (--world.init_count == 0)
        events_forget();
    return leave(NVML_SUCCESS);
}

/* Gives all memory back when the library is unloaded. */
__attribute__((destructor)) static void unload(void)
{
    world_lock();
    events_forget();
    for (unsigned i = 0; i < world.n_slots; i++)
        accounting_forget(&world.slots[i]);
    state_free(world.state);
    world.state = NULL;
    world.init_count = 0;
    world_unlock();
}
