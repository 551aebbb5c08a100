// SPDX-License-Identifier: Apache-2.0

/* Reads a state file into a struct state. */

#include "lines.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void state_free(struct state *s)
{
    if (s == NULL)
        return;
    free(s->gpus);
    free(s->migs);
    free(s->procs);
    free(s->accts);
    free(s->events);
    free(s->gpms);
    free(s->fields);
    free(s->limits);
    free(s->faults);
    free(s);
}

static struct state *state_new(void)
{
    struct state *s = calloc(1, sizeof *s);

    if (s == NULL)
        return NULL;
    s->options.driver_loaded = true;
    s->options.sample_period_us = 166667; /* a sixth of a second, NVML's shortest */
    s->options.cuda = 12080;
    snprintf(s->options.driver, sizeof s->options.driver, "570.172.08");
    return s;
}

/* A process is known by all four numbers; samples come after processes. */
static int compare_procs(const void *left, const void *right)
{
    const struct proc *a = left, *b = right;

    if (a->gpu != b->gpu)
        return a->gpu < b->gpu ? -1 : 1;
    if (a->sample_only != b->sample_only)
        return a->sample_only ? 1 : -1;
    if (a->gi != b->gi)
        return a->gi < b->gi ? -1 : 1;
    if (a->ci != b->ci)
        return a->ci < b->ci ? -1 : 1;
    if (a->pid != b->pid)
        return a->pid < b->pid ? -1 : 1;
    return a->line < b->line ? -1 : a->line > b->line;
}

static bool check_duplicates(struct parser *p, const struct proc *procs, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        const struct proc *a = &procs[i - 1], *b = &procs[i];
        if (b->sample_only || a->sample_only || a->gpu != b->gpu || a->gi != b->gi ||
            a->ci != b->ci || a->pid != b->pid)
            continue;
        p->line = b->line;
        return fail(p, "pid=%u is on this GPU on line %u already; join kinds with +", b->pid,
                    a->line);
    }
    return true;
}

/* Sorts processes by GPU, so that each GPU has one run of them. */
static bool index_procs(struct parser *p)
{
    struct state *s = p->state;

    if (s->n_procs == 0)
        return true;
    qsort(s->procs, s->n_procs, sizeof *s->procs, compare_procs);
    for (size_t i = 0; i < s->n_procs; i++) {
        struct gpu *g = &s->gpus[s->procs[i].gpu];
        if (g->n_procs++ == 0)
            g->first_proc = (uint32_t)i;
    }
    return check_duplicates(p, s->procs, s->n_procs);
}

static bool parse_lines(struct parser *p, FILE *in)
{
    char *line = NULL;
    size_t size = 0;
    bool ok = true;
    static struct words words; /* under the lock like everything else */

    while (ok && getline(&line, &size, in) >= 0) {
        p->line++;
        ok = split_words(p, line, &words) && (words.n == 0 || add_line(p, &words));
    }
    free(line);
    if (ok && ferror(in))
        ok = fail(p, "read: %s", strerror(errno));
    return ok && index_procs(p);
}

struct state *state_read(const char *path)
{
    FILE *in = fopen(path, "re");
    struct parser p = {.path = path, .state = state_new()};

    if (in == NULL || p.state == NULL) {
        fprintf(stderr, "mocknvml: open %s: %s\n", path, strerror(errno));
        if (in != NULL)
            fclose(in);
        state_free(p.state);
        return NULL;
    }
    bool ok = parse_lines(&p, in);
    fclose(in);
    if (ok)
        return p.state;
    fprintf(stderr, "mocknvml: %s; keeping the last good state\n", p.error);
    state_free(p.state);
    return NULL;
}
