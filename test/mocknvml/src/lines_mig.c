// SPDX-License-Identifier: Apache-2.0

/*
 * `mig` lines (a MIG device: a compute instance on a GPU instance) and
 * `gi` lines (a GPU instance without a compute instance).
 *
 * The first line that names a GPU instance creates it; further `mig` lines with
 * the same gi= add compute instances to it ("1c.3g.20gb").
 */

#include "lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct mig, member)

static bool to_mig_uuid(struct parser *p, const char *key, const char *value, void *out)
{
    if (strncmp(value, "MIG-", 4) != 0)
        return fail(p, "%s=%s: a MIG device's UUID begins with MIG-", key, value);
    for (size_t i = 0; i < p->state->n_migs; i++)
        if (strcmp(p->state->migs[i].uuid, value) == 0)
            return fail(p, "%s=%s: line %u has the same UUID", key, value,
                        p->state->migs[i].line);
    return to_text(p, key, value, out);
}

static const struct key mig_keys[] = {
    {"gpu", to_gpu, AT(gpu)},
    {"uuid", to_mig_uuid, AT(uuid)},
    {"gi", to_u32, AT(gi)},
    {"ci", to_u32, AT(ci)},
    {"profile", to_text, AT(profile_name)},
    {"start", to_u32, AT(start)},
    {"slices", to_u32, AT(ci_slices)},
    {"sms", to_u32, AT(sms)},
    {"mem", to_bytes, AT(memory)},
    {"reserved", to_bytes, AT(reserved)},
    {"extra", to_bytes, AT(extra)},
    {NULL, NULL, 0},
};

/* An earlier line of the same GPU instance, NULL when m is the first. */
static const struct mig *earlier(const struct state *s, const struct mig *m)
{
    for (const struct mig *o = s->migs; o < m; o++)
        if (o->gpu == m->gpu && o->gi == m->gi)
            return o;
    return NULL;
}

/* Memory slices taken by other GPU instances on m's GPU, one bit each. */
static unsigned taken_slices(const struct state *s, const struct mig *m)
{
    unsigned taken = 0;

    for (const struct mig *o = s->migs; o < m; o++)
        if (o->gpu == m->gpu && o->gi != m->gi)
            taken |= ((1u << o->profile->memory_slices) - 1) << o->start;
    return taken;
}

static bool place_gpu_instance(struct parser *p, struct mig *m)
{
    unsigned taken = taken_slices(p->state, m);
    unsigned mask = (1u << m->profile->memory_slices) - 1;

    if (m->start != AUTO) {
        if (m->start > 31 || (m->profile->starts >> m->start & 1) == 0)
            return fail(p, "start=%u: %s cannot be placed there", m->start, m->profile->name);
        if ((taken & mask << m->start) != 0)
            return fail(p, "start=%u: memory slices are taken by another GPU instance", m->start);
        return true;
    }
    for (unsigned start = 0; start < 8; start++)
        if ((m->profile->starts >> start & 1) != 0 && (taken & mask << start) == 0) {
            m->start = start;
            return true;
        }
    return fail(p, "profile=%s: no room left on this GPU", m->profile_name);
}

/* Splits "1c.3g.20gb" into 1 and "3g.20gb"; 0 slices when there is no "c." part. */
static const char *compute_slices(const char *name, uint32_t *slices)
{
    char *end;
    unsigned long n = strtoul(name, &end, 10);

    *slices = 0;
    if (end == name || strncmp(end, "c.", 2) != 0)
        return name;
    *slices = (uint32_t)n;
    return end + 2;
}

static bool resolve_profile(struct parser *p, struct mig *m)
{
    const struct device_profile *device = p->state->gpus[m->gpu].profile;
    uint32_t slices;
    const char *gpu_part = compute_slices(m->profile_name, &slices);

    m->profile = mig_profile_by_name(device, gpu_part);
    if (m->profile == NULL)
        return fail(p, "profile=%s: device profile %s has no such MIG profile", m->profile_name,
                    device->key);
    if (m->ci_slices == 0)
        m->ci_slices = slices != 0 ? slices : m->profile->slices;
    if (m->ci_slices > m->profile->slices)
        return fail(p, "profile=%s: more compute slices than its GPU instance has",
                    m->profile_name);
    if (m->sms == 0)
        m->sms = m->profile->sms * m->ci_slices / m->profile->slices;
    if (m->memory == 0)
        m->memory = (uint64_t)m->profile->memory_mib << 20;
    return true;
}

/* Takes the place and the memory of the GPU instance that an earlier line made. */
static bool join_gpu_instance(struct parser *p, struct mig *m, const struct mig *first)
{
    uint32_t used = 0;

    if (m->profile != first->profile)
        return fail(p, "gi=%u is %s on line %u", m->gi, first->profile->name, first->line);
    if (m->start != AUTO && m->start != first->start)
        return fail(p, "gi=%u starts at %u on line %u", m->gi, first->start, first->line);
    for (const struct mig *o = p->state->migs; o < m; o++) {
        if (o->gpu != m->gpu || o->gi != m->gi || o->ci == ID_NONE)
            continue;
        if (o->ci == m->ci)
            return fail(p, "gi=%u ci=%u is on line %u already", m->gi, m->ci, o->line);
        used += o->ci_slices;
    }
    if (used + m->ci_slices > m->profile->slices)
        return fail(p, "gi=%u has %u compute slices, %u are taken", m->gi, m->profile->slices,
                    used);
    m->start = first->start;
    m->memory = first->memory;
    m->reserved = first->reserved;
    m->extra = first->extra;
    m->ci_start = used;
    return true;
}

static bool finish_mig(struct parser *p, struct mig *m)
{
    struct state *s = p->state;
    const struct mig *first = earlier(s, m);

    if (!s->gpus[m->gpu].mig)
        return fail(p, "gpu %u is not in MIG mode: its gpu line needs mig=1", m->gpu);
    if (!resolve_profile(p, m))
        return false;
    if (first == NULL && !place_gpu_instance(p, m))
        return false;
    if (first != NULL && !join_gpu_instance(p, m, first))
        return false;
    for (const struct mig *o = s->migs; o < m; o++)
        m->index += o->gpu == m->gpu && o->ci != ID_NONE;
    return true;
}

static struct mig *start_mig(struct parser *p, struct words *w)
{
    struct state *s = p->state;

    allow_bare_gpu(w);
    if (!require_key(p, w, "gpu", "index or UUID of the parent") ||
        !require_key(p, w, "gi", "the GPU instance id") ||
        !require_key(p, w, "profile", "the MIG profile, 1g.5gb"))
        return NULL;
    struct mig *m = grow(p, (void **)&s->migs, &s->n_migs, sizeof *m);
    if (m == NULL)
        return NULL;
    m->line = p->line;
    m->start = AUTO;
    return m;
}

bool add_mig(struct parser *p, struct words *w)
{
    struct mig *m = start_mig(p, w);

    return m != NULL && require_key(p, w, "uuid", "the MIG device's UUID, MIG-...") &&
           apply_keys(p, w, mig_keys, m) && finish_mig(p, m);
}

bool add_gpu_instance(struct parser *p, struct words *w)
{
    struct mig *m = start_mig(p, w);

    if (m == NULL)
        return false;
    if (find_word(w, "uuid") != NULL || find_word(w, "ci") != NULL)
        return fail(p, "a gi line has no uuid= and no ci=: use a mig line");
    if (!apply_keys(p, w, mig_keys, m))
        return false;
    m->ci = ID_NONE;
    if (earlier(p->state, m) != NULL)
        return fail(p, "gi=%u is on line %u already", m->gi, earlier(p->state, m)->line);
    return finish_mig(p, m);
}
