// SPDX-License-Identifier: Apache-2.0

/*
 * Internal types of the mock NVML library.
 *
 * struct state is what one reading of the state file says; it is never changed
 * after it was parsed. struct world (world.c) is what the process remembers
 * beyond one reading: initialisation, handles, counters, accounting, event sets.
 * One mutex guards everything; enter_*() takes it and leave() gives it back.
 */

#ifndef MOCKNVML_MOCK_H
#define MOCKNVML_MOCK_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef NVML_NO_UNVERSIONED_FUNC_DEFS
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#endif
#include "nvml.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    TEXT_SIZE = 96,          /* longest text value, terminator included (NVML's UUID buffer) */
    MAX_GPUS = 64,           /* GPUs one process may ever see */
    MAX_GPM_VALUES = 64,     /* GPM metrics one GPU or GPU instance may set */
    GPU_NONE = UINT32_MAX,   /* "no GPU" in an index, "every GPU" in a fault */
    ID_NONE = 0xFFFFFFFF,    /* NVML's GPU and compute instance id outside MIG */
    AUTO = UINT32_MAX,       /* "work it out" for utilization */
};

#define MEM_UNKNOWN UINT64_MAX /* NVML_VALUE_NOT_AVAILABLE as a byte count */

/* ---- device profiles (profiles.c) ---- */

struct mig_profile {
    const char *name;        /* "1g.5gb" */
    unsigned profile;        /* NVML_GPU_INSTANCE_PROFILE_* */
    unsigned id;             /* profile id, unique within the device */
    unsigned slices;         /* compute slices */
    unsigned memory_slices;  /* size of a placement */
    unsigned max_instances;
    unsigned sms;
    unsigned memory_mib;
    unsigned starts;         /* bit n set: a placement may start at memory slice n */
    unsigned copy_engines, decoders, jpeg, ofa;
};

struct device_profile {
    const char *key;         /* "a100-40gb" */
    const char *name;        /* product name as NVML gives it */
    unsigned brand, arch, cc, sms, cores, bus_width, pci_device_id;
    unsigned memory_mib, reserved_mib;
    bool memory_info;        /* false: both memory calls say NOT_SUPPORTED */
    bool gpm;
    bool ecc;
    unsigned idle_watts, min_watts, max_watts;  /* max_watts 0: no power limit readable */
    unsigned sm_mhz, memory_mhz;
    const struct mig_profile *mig;
    unsigned n_mig;
    unsigned max_migs;       /* MIG devices at most, 0: no MIG */
};

const struct device_profile *device_profile_find(const char *key);
const struct mig_profile *mig_profile_by_id(const struct device_profile *p, unsigned id);
const struct mig_profile *mig_profile_by_index(const struct device_profile *p, unsigned profile);
const struct mig_profile *mig_profile_by_name(const struct device_profile *p, const char *name);

/* ---- what the state file says ---- */

struct gpu {
    const struct device_profile *profile;
    unsigned line;
    uint32_t slot;           /* place in world.slots, stable for the process' life */
    char uuid[TEXT_SIZE], name[TEXT_SIZE], serial[TEXT_SIZE];
    uint32_t index, minor, domain, bus, device, numa, pci_device_id;
    uint64_t memory, reserved, extra;
    bool memory_info, gpm, ecc;
    uint32_t cc, arch, brand;
    uint32_t mig, mig_pending;
    uint32_t util, mem_util, enc_util, dec_util;
    uint64_t power, power_limit, energy;   /* mW, mW, mJ */
    uint32_t temperature, mem_temperature;
    uint32_t sm_clock, mem_clock, sm_clock_max, mem_clock_max;
    uint64_t clock_reasons;
    uint32_t pcie_rx, pcie_tx;             /* KB/s */
    uint64_t ecc_corrected, ecc_uncorrected;
    uint32_t compute_mode, persistence, addressing, virtualization, recovery;
    uint32_t accounting, accounting_size;
    uint32_t first_proc, n_procs;          /* its run in state.procs */
};

struct mig {                 /* a GPU instance, and the MIG device on it unless ci == ID_NONE */
    unsigned line;
    uint32_t gpu, gi, ci;
    uint32_t index;          /* position among the MIG devices of its GPU */
    char uuid[TEXT_SIZE], profile_name[TEXT_SIZE];
    const struct mig_profile *profile;
    uint32_t start;          /* first memory slice; AUTO while parsing */
    uint32_t ci_slices, ci_start, sms;
    uint64_t memory, reserved, extra;
};

enum process_kind { PROC_COMPUTE = 1, PROC_GRAPHICS = 2, PROC_MPS = 4 };

struct proc {
    unsigned line;
    uint32_t gpu, pid, gi, ci, kinds;
    uint64_t memory;         /* MEM_UNKNOWN: size not available */
    uint64_t managed;        /* counted in the device's used, in no process */
    uint64_t protected_memory;
    uint32_t sm, mem_util, enc, dec, jpeg, ofa;
    uint64_t timestamp;      /* of its utilization sample; 0: the current period */
    uint64_t start_ticks;    /* field 22 of /proc/PID/stat, 0: any */
    bool zombie;             /* listed though no such process exists */
    bool sample_only;        /* a `sample` line: utilization only, in no list */
};

struct acct {
    uint32_t gpu, pid, gpu_util, mem_util, samples;
    uint64_t max_memory, time_ms, start_us;
};

struct event {
    uint32_t gpu, gi, ci;
    uint64_t type, data, seq;
    bool past;               /* event sets made after it appeared do not get it */
};

struct gpm_values {
    uint32_t gpu, gi;
    uint32_t n;
    struct { uint32_t id; double value; } values[MAX_GPM_VALUES];
};

struct field {
    uint32_t gpu, id;
    uint64_t value;
};

struct memory_limit {
    uint32_t gpu;
    char cgroup[4096];
    uint64_t soft, hard, used;
};

enum fault_action { FAULT_RETURN, FAULT_HANG, FAULT_SLOW, FAULT_GROW };

struct fault {
    uint32_t gpu;            /* GPU_NONE: every call, also those without a device */
    char call[TEXT_SIZE];    /* function name, `*` and `?` allowed */
    enum fault_action action;
    nvmlReturn_t code;       /* FAULT_RETURN */
    uint32_t amount;         /* FAULT_SLOW: milliseconds; FAULT_GROW: entries */
    uint32_t times;          /* 0: always */
    uint32_t fired;          /* how often so far, in this process */
};

struct options {
    bool reap;
    bool driver_loaded;
    uint32_t sample_period_us;
    char driver[TEXT_SIZE], nvml[TEXT_SIZE];
    uint32_t cuda;
};

struct state {
    struct options options;
    struct gpu *gpus;
    size_t n_gpus;
    struct mig *migs;
    size_t n_migs;
    struct proc *procs;
    size_t n_procs;
    struct acct *accts;
    size_t n_accts;
    struct event *events;
    size_t n_events;
    struct gpm_values *gpms;
    size_t n_gpms;
    struct field *fields;
    size_t n_fields;
    struct memory_limit *limits;
    size_t n_limits;
    struct fault *faults;
    size_t n_faults;
};

/* state.c: reads and checks a state file; prints the first error to stderr and returns NULL. */
struct state *state_read(const char *path);
void state_free(struct state *s);

/* ---- what the process remembers (world.c) ---- */

enum handle_kind { HANDLE_FREE, HANDLE_DEVICE, HANDLE_GPU_INSTANCE, HANDLE_COMPUTE_INSTANCE };

struct handle {              /* its address is what NVML clients hold */
    enum handle_kind kind;
    uint32_t slot, gi, ci;   /* gi == ID_NONE: the whole GPU */
};

struct slot {                /* one GPU by UUID, kept when it leaves the state file */
    char uuid[TEXT_SIZE];
    uint64_t energy_base_mj; /* last `energy=` seen */
    uint64_t energy_nj;      /* counted since then */
    uint64_t energy_at_us;   /* when energy_nj was last brought up to date, 0: never */
    uint64_t power_mw;       /* power since energy_at_us */
    struct tracked *tracked; /* accounting.c */
    size_t n_tracked;
};

struct world {
    struct state *state;     /* NULL before the first good reading */
    unsigned init_count;
    char driver_at_init[TEXT_SIZE];
    struct slot slots[MAX_GPUS];
    unsigned n_slots;
};

extern struct world world;

/* What a call is about, resolved under the lock. */
struct target {
    struct gpu *gpu;
    struct mig *mig;         /* NULL for a whole GPU */
    uint32_t gi, ci;
};

/*
 * Every call begins with one of these and, on NVML_SUCCESS, ends with leave().
 * They take the lock, read a changed state file, check initialisation and driver
 * version, apply the faults for this call (a hang sleeps without the lock) and
 * resolve the handle.
 */
nvmlReturn_t enter_system(const char *call);
nvmlReturn_t enter_slot(const char *call, uint32_t slot, struct target *t);
nvmlReturn_t enter_device(const char *call, nvmlDevice_t device, struct target *t);
nvmlReturn_t enter_gpu(const char *call, nvmlDevice_t device, struct target *t);
nvmlReturn_t enter_gpu_instance(const char *call, nvmlGpuInstance_t gi, struct target *t);
nvmlReturn_t enter_compute_instance(const char *call, nvmlComputeInstance_t ci, struct target *t);
nvmlReturn_t leave(nvmlReturn_t rc);

void world_lock(void);
void world_unlock(void);
nvmlReturn_t world_refresh(void);
uint32_t world_slot(const char *uuid);

nvmlDevice_t device_handle(const struct gpu *g, uint32_t gi, uint32_t ci);
nvmlGpuInstance_t gpu_instance_handle(const struct gpu *g, uint32_t gi);
nvmlComputeInstance_t compute_instance_handle(const struct gpu *g, uint32_t gi, uint32_t ci);

/* ---- helpers ---- */

/* faults.c */
enum gate { GATE_OPEN, GATE_RETURN, GATE_HANG, GATE_SLOW };
enum gate fault_gate(uint32_t gpu, const char *call, bool slept, nvmlReturn_t *code, uint32_t *ms);
uint32_t fault_grow(uint32_t gpu, const char *call);
void faults_carry(const struct state *old, struct state *new);
bool fault_kind_parse(const char *text, struct fault *f);

/* process.c */
bool proc_listed(const struct proc *p);
bool proc_in_target(const struct proc *p, const struct target *t);

/* accounting.c, power.c, events.c: keep up with a new state */
void accounting_update(void);
void accounting_forget(struct slot *s);
void energy_update(void);
void energy_reset(struct slot *s);
void events_forget(void);

/* memory.c */
void memory_of(const struct target *t, uint64_t *total, uint64_t *reserved, uint64_t *used);

/* text and time (world.c) */
nvmlReturn_t copy_text(char *out, unsigned size, const char *text);
uint64_t now_us(void);          /* since 1970 */
uint64_t uptime_ms(void);       /* since some time ago, never set back */
void sleep_ms(unsigned ms);

#endif
