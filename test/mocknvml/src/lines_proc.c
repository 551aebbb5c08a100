// SPDX-License-Identifier: Apache-2.0

/* `proc` (a process on a GPU), `sample` (utilization only) and `acct` (an ended process). */

#include "lines.h"

#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define AT(member) offsetof(struct proc, member)

/* "compute", "compute+mps", ... */
static bool to_kinds(struct parser *p, const char *key, const char *value, void *out)
{
    static const struct { const char *name; uint32_t kind; } kinds[] = {
        {"compute", PROC_COMPUTE}, {"graphics", PROC_GRAPHICS}, {"mps", PROC_MPS},
    };
    uint32_t found = 0;
    const char *part = value;

    while (part != NULL) {
        size_t n = strcspn(part, "+"), i = 0;
        while (i < COUNT(kinds) &&
               (strlen(kinds[i].name) != n || strncmp(kinds[i].name, part, n) != 0))
            i++;
        if (i == COUNT(kinds))
            return fail(p, "%s=%s: want compute, graphics, mps, or several joined by +", key,
                        value);
        found |= kinds[i].kind;
        part = part[n] == '+' ? part + n + 1 : NULL;
    }
    *(uint32_t *)out = found;
    return true;
}

static const struct key proc_keys[] = {
    {"gpu", to_gpu, AT(gpu)},
    {"pid", to_u32, AT(pid)},
    {"gi", to_u32, AT(gi)},
    {"ci", to_u32, AT(ci)},
    {"kind", to_kinds, AT(kinds)},
    {"mem", to_memory, AT(memory)},
    {"managed", to_bytes, AT(managed)},
    {"protected", to_bytes, AT(protected_memory)},
    {"sm", to_u32, AT(sm)},
    {"memutil", to_u32, AT(mem_util)},
    {"enc", to_u32, AT(enc)},
    {"dec", to_u32, AT(dec)},
    {"jpeg", to_u32, AT(jpeg)},
    {"ofa", to_u32, AT(ofa)},
    {"ts", to_u64, AT(timestamp)},
    {"start", to_u64, AT(start_ticks)},
    {"zombie", to_flag, AT(zombie)},
    {NULL, NULL, 0},
};

static const struct key sample_keys[] = {
    {"gpu", to_gpu, AT(gpu)},
    {"pid", to_u32, AT(pid)},
    {"sm", to_u32, AT(sm)},
    {"memutil", to_u32, AT(mem_util)},
    {"enc", to_u32, AT(enc)},
    {"dec", to_u32, AT(dec)},
    {"jpeg", to_u32, AT(jpeg)},
    {"ofa", to_u32, AT(ofa)},
    {"ts", to_u64, AT(timestamp)},
    {NULL, NULL, 0},
};

static struct proc *start_proc(struct parser *p, struct words *w)
{
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU") ||
        !require_key(p, w, "pid", "the process id"))
        return NULL;
    struct proc *r = grow(p, (void **)&s->procs, &s->n_procs, sizeof *r);
    if (r == NULL)
        return NULL;
    r->line = p->line;
    r->gi = r->ci = ID_NONE;
    return r;
}

/* A process on a MIG GPU lives in one compute instance that the file has. */
static bool check_instance(struct parser *p, const struct proc *r)
{
    const struct state *s = p->state;

    if (!s->gpus[r->gpu].mig) {
        if (r->gi != ID_NONE || r->ci != ID_NONE)
            return fail(p, "gpu %u is not in MIG mode: leave out gi= and ci=", r->gpu);
        return true;
    }
    for (size_t i = 0; i < s->n_migs; i++)
        if (s->migs[i].gpu == r->gpu && s->migs[i].gi == r->gi && s->migs[i].ci == r->ci)
            return true;
    return fail(p, "gpu %u is in MIG mode: give gi= and ci= of a mig line above", r->gpu);
}

bool add_proc(struct parser *p, struct words *w)
{
    struct proc *r = start_proc(p, w);

    if (r == NULL || !require_key(p, w, "mem", "bytes held, or unknown"))
        return false;
    r->kinds = PROC_COMPUTE;
    if (!apply_keys(p, w, proc_keys, r))
        return false;
    if (r->gi != ID_NONE && r->ci == ID_NONE)
        r->ci = 0;
    return check_instance(p, r);
}

bool add_sample(struct parser *p, struct words *w)
{
    struct proc *r = start_proc(p, w);

    if (r == NULL)
        return false;
    r->sample_only = true;
    return apply_keys(p, w, sample_keys, r);
}

#undef AT
#define AT(member) offsetof(struct acct, member)

static const struct key acct_keys[] = {
    {"gpu", to_gpu, AT(gpu)},
    {"pid", to_u32, AT(pid)},
    {"maxmem", to_memory, AT(max_memory)},
    {"time", to_u64, AT(time_ms)},
    {"start", to_u64, AT(start_us)},
    {"util", to_u32, AT(gpu_util)},
    {"memutil", to_u32, AT(mem_util)},
    {"samples", to_u32, AT(samples)},
    {NULL, NULL, 0},
};

bool add_acct(struct parser *p, struct words *w)
{
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the GPU") ||
        !require_key(p, w, "pid", "the process id"))
        return false;
    struct acct *a = grow(p, (void **)&s->accts, &s->n_accts, sizeof *a);
    return a != NULL && apply_keys(p, w, acct_keys, a);
}
