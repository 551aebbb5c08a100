// SPDX-License-Identifier: Apache-2.0

/* The remaining line types, and the table of all of them. */

#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

void *grow(struct parser *p, void **array, size_t *count, size_t size)
{
    size_t n = *count;

    if ((n & (n + 1)) == 0 || n == 0) { /* full at 0, 1, 3, 7, ... elements */
        void *bigger = realloc(*array, (2 * n + 1) * size);
        if (bigger == NULL) {
            fail(p, "out of memory");
            return NULL;
        }
        *array = bigger;
    }
    *count = n + 1;
    return memset((char *)*array + n * size, 0, size);
}

void allow_bare_gpu(struct words *w)
{
    static char gpu[] = "gpu";

    if (w->n > 1 && w->w[1].key == NULL)
        w->w[1].key = gpu;
}

bool to_choice(struct parser *p, const char *key, const char *value, uint32_t *out,
               const char *const *names, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (strcmp(value, names[i]) == 0) {
            *out = i;
            return true;
        }
    if (value[0] >= '0' && value[0] <= '9')
        return to_u32(p, key, value, out);
    return fail(p, "%s=%s: want one of %s, ..., %s", key, value, names[0], names[n - 1]);
}

/* `driver 570.172.08` and `driver none`. */
static bool set_driver(struct parser *p, struct words *w)
{
    struct options *o = &p->state->options;

    if (w->n != 2 || w->w[1].key != NULL)
        return fail(p, "want one value: driver VERSION, or driver none");
    o->driver_loaded = strcmp(w->w[1].value, "none") != 0;
    return to_text(p, "driver", w->w[1].value, o->driver);
}

static bool set_nvml(struct parser *p, struct words *w)
{
    if (w->n != 2 || w->w[1].key != NULL)
        return fail(p, "want one value: nvml VERSION");
    return to_text(p, "nvml", w->w[1].value, p->state->options.nvml);
}

static bool set_cuda(struct parser *p, struct words *w)
{
    if (w->n != 2 || w->w[1].key != NULL)
        return fail(p, "want one value: cuda 12080 (1000 * major + 10 * minor)");
    return to_u32(p, "cuda", w->w[1].value, &p->state->options.cuda);
}

static bool set_options(struct parser *p, struct words *w)
{
    static const struct key keys[] = {
        {"reap", to_flag, offsetof(struct options, reap)},
        {"sample_period_us", to_u32, offsetof(struct options, sample_period_us)},
        {NULL, NULL, 0},
    };
    if (!apply_keys(p, w, keys, &p->state->options))
        return false;
    if (p->state->options.sample_period_us == 0)
        return fail(p, "sample_period_us must be at least 1");
    return true;
}

static bool to_event_type(struct parser *p, const char *key, const char *value, void *out)
{
    static const struct { const char *name; uint64_t type; } types[] = {
        {"xid", nvmlEventTypeXidCriticalError}, {"sbe", nvmlEventTypeSingleBitEccError},
        {"dbe", nvmlEventTypeDoubleBitEccError}, {"pstate", nvmlEventTypePState},
        {"mig_config", nvmlEventMigConfigChange},
        {"unavailable", nvmlEventTypeGpuUnavailableError},
        {"recovery", nvmlEventTypeGpuRecoveryAction},
    };
    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].name, value) == 0) {
            *(uint64_t *)out = types[i].type;
            return true;
        }
    if (strncmp(value, "0x", 2) == 0)
        return to_u64(p, key, value, out);
    return fail(p, "%s=%s: want xid, sbe, dbe, pstate, mig_config, unavailable, recovery or 0x...",
                key, value);
}

static bool add_event(struct parser *p, struct words *w)
{
    static const struct key keys[] = {
        {"gpu", to_gpu, offsetof(struct event, gpu)},
        {"xid", to_u64, offsetof(struct event, data)},
        {"type", to_event_type, offsetof(struct event, type)},
        {"data", to_u64, offsetof(struct event, data)},
        {"gi", to_u32, offsetof(struct event, gi)},
        {"ci", to_u32, offsetof(struct event, ci)},
        {"seq", to_u64, offsetof(struct event, seq)},
        {"past", to_flag, offsetof(struct event, past)},
        {NULL, NULL, 0},
    };
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU") ||
        !require_key(p, w, "seq", "a number of its own, so that it is delivered once"))
        return false;
    if (find_word(w, "xid") == NULL && find_word(w, "type") == NULL)
        return fail(p, "event line needs xid= or type=");
    struct event *e = grow(p, (void **)&s->events, &s->n_events, sizeof *e);
    if (e == NULL)
        return false;
    e->gi = e->ci = ID_NONE;
    e->type = nvmlEventTypeXidCriticalError;
    return apply_keys(p, w, keys, e);
}

static bool add_gpm_value(struct parser *p, struct gpm_values *g, const char *key,
                          const char *value)
{
    static const struct { const char *name; unsigned id; } names[] = {
        {"graphics", NVML_GPM_METRIC_GRAPHICS_UTIL}, {"sm", NVML_GPM_METRIC_SM_UTIL},
        {"occupancy", NVML_GPM_METRIC_SM_OCCUPANCY}, {"integer", NVML_GPM_METRIC_INTEGER_UTIL},
        {"tensor", NVML_GPM_METRIC_ANY_TENSOR_UTIL}, {"dram", NVML_GPM_METRIC_DRAM_BW_UTIL},
        {"fp64", NVML_GPM_METRIC_FP64_UTIL}, {"fp32", NVML_GPM_METRIC_FP32_UTIL},
        {"fp16", NVML_GPM_METRIC_FP16_UTIL}, {"pcie_tx", NVML_GPM_METRIC_PCIE_TX_PER_SEC},
        {"pcie_rx", NVML_GPM_METRIC_PCIE_RX_PER_SEC},
        {"nvlink_rx", NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC},
        {"nvlink_tx", NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC},
    };
    uint32_t id = 0;
    char *end;

    for (size_t i = 0; i < COUNT(names); i++)
        if (strcmp(names[i].name, key) == 0)
            id = names[i].id;
    if (id == 0 && key[0] == 'm' && !to_u32(p, key, key + 1, &id))
        return false;
    if (id == 0 || id >= NVML_GPM_METRIC_MAX)
        return fail(p, "a gpm line has no key \"%s\" (use mNUMBER for other metrics)", key);
    if (g->n == MAX_GPM_VALUES)
        return fail(p, "more than %d metrics on one gpm line", MAX_GPM_VALUES);
    double number = strtod(value, &end);
    if (end == value || *end != '\0')
        return fail(p, "%s=%s: want a number", key, value);
    g->values[g->n].id = id;
    g->values[g->n++].value = number;
    return true;
}

static bool add_gpm(struct parser *p, struct words *w)
{
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU"))
        return false;
    struct gpm_values *g = grow(p, (void **)&s->gpms, &s->n_gpms, sizeof *g);
    if (g == NULL)
        return false;
    g->gi = ID_NONE;
    for (unsigned i = 1; i < w->n; i++) {
        const char *key = w->w[i].key, *value = w->w[i].value;
        bool ok;
        if (key == NULL)
            ok = fail(p, "\"%s\" is not key=value", value);
        else if (strcmp(key, "gpu") == 0)
            ok = to_gpu(p, key, value, &g->gpu);
        else if (strcmp(key, "gi") == 0)
            ok = to_u32(p, key, value, &g->gi);
        else
            ok = add_gpm_value(p, g, key, value);
        if (!ok)
            return false;
    }
    return true;
}

static bool add_field(struct parser *p, struct words *w)
{
    static const struct key keys[] = {
        {"gpu", to_gpu, offsetof(struct field, gpu)},
        {"id", to_u32, offsetof(struct field, id)},
        {"value", to_u64, offsetof(struct field, value)},
        {NULL, NULL, 0},
    };
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU") ||
        !require_key(p, w, "id", "the NVML_FI_* number") ||
        !require_key(p, w, "value", "a whole number"))
        return false;
    struct field *f = grow(p, (void **)&s->fields, &s->n_fields, sizeof *f);
    return f != NULL && apply_keys(p, w, keys, f);
}

static bool to_path(struct parser *p, const char *key, const char *value, void *out)
{
    size_t n = strlen(value);

    if (value[0] != '/' || n >= sizeof ((struct memory_limit *)0)->cgroup)
        return fail(p, "%s=%s: want an absolute path", key, value);
    memcpy(out, value, n + 1);
    return true;
}

static bool add_limit(struct parser *p, struct words *w)
{
    static const struct key keys[] = {
        {"gpu", to_gpu, offsetof(struct memory_limit, gpu)},
        {"cgroup", to_path, offsetof(struct memory_limit, cgroup)},
        {"soft", to_bytes, offsetof(struct memory_limit, soft)},
        {"hard", to_bytes, offsetof(struct memory_limit, hard)},
        {"used", to_bytes, offsetof(struct memory_limit, used)},
        {NULL, NULL, 0},
    };
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU") ||
        !require_key(p, w, "cgroup", "the path of the cgroup"))
        return false;
    struct memory_limit *l = grow(p, (void **)&s->limits, &s->n_limits, sizeof *l);
    if (l == NULL)
        return false;
    l->hard = NVML_DEVICE_MEMORY_LIMIT_MAX;
    return apply_keys(p, w, keys, l);
}

static bool to_fault_kind(struct parser *p, const char *key, const char *value, void *out)
{
    if (fault_kind_parse(value, out))
        return true;
    return fail(p, "%s=%s: no such fault (see README.md)", key, value);
}

static bool add_fault(struct parser *p, struct words *w)
{
    static const struct key keys[] = {
        {"gpu", to_gpu, offsetof(struct fault, gpu)},
        {"call", to_text, offsetof(struct fault, call)},
        {"kind", to_fault_kind, 0},
        {"times", to_u32, offsetof(struct fault, times)},
        {NULL, NULL, 0},
    };
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "kind", "lost, hang, slow:MS, ..."))
        return false;
    struct fault *f = grow(p, (void **)&s->faults, &s->n_faults, sizeof *f);
    if (f == NULL)
        return false;
    f->gpu = GPU_NONE;
    snprintf(f->call, sizeof f->call, "*");
    if (!apply_keys(p, w, keys, f))
        return false;
    if (f->action == FAULT_GROW && find_word(w, "times") == NULL)
        f->times = 1;
    return true;
}

bool add_line(struct parser *p, struct words *w)
{
    static const struct { const char *word; bool (*add)(struct parser *, struct words *); } types[] = {
        {"driver", set_driver}, {"nvml", set_nvml}, {"cuda", set_cuda}, {"option", set_options},
        {"gpu", add_gpu}, {"mig", add_mig}, {"gi", add_gpu_instance}, {"proc", add_proc},
        {"sample", add_sample}, {"acct", add_acct}, {"event", add_event}, {"gpm", add_gpm},
        {"field", add_field}, {"limit", add_limit}, {"fault", add_fault},
    };
    const char *word = w->w[0].value;

    if (w->w[0].key != NULL)
        return fail(p, "line begins with %s=, want a word such as gpu or proc", w->w[0].key);
    for (size_t i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].word, word) == 0)
            return types[i].add(p, w);
    return fail(p, "no line begins with \"%s\"", word);
}
