// SPDX-License-Identifier: Apache-2.0

/* Reads damaged state files: no input may crash the parser or break what it hands on. */

#include "hammer.h"

#include "../src/mock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 };

/* What a mutation likes to put in: the words and signs that mean something. */
static const char *const pieces[] = {
    "gpu=0", "gi=1", "ci=0", "=", "\"", "#", "\n", " ", "0x", "18446744073709551615", "GiB", "mem=",
    "uuid=GPU-9", "uuid=MIG-9", "mig 0 ", "proc 0 ", "gi 0 ", "gpm 0 ", "event 0 ", "fault ",
    "kind=slow:", "kind=grow", "profile=7g.80gb", "profile=9c.1g.10gb", "start=31", "driver none",
    "-1", "99999999999999999999", "unknown", "option reap=1", "m477=1", "call=[",
};

static unsigned below(unsigned *seed, size_t n)
{
    return (unsigned)rand_r(seed) % (unsigned)n;
}

static size_t insert(char *text, size_t n, size_t at, const char *piece)
{
    size_t more = strlen(piece);

    if (n + more >= LONGEST)
        return n;
    memmove(text + at + more, text + at, n - at);
    memcpy(text + at, piece, more);
    return n + more;
}

static size_t mutate(char *text, size_t n, unsigned *seed)
{
    size_t at = below(seed, n + 1), cut;

    switch (below(seed, 4)) {
    case 0:
        return insert(text, n, at, pieces[below(seed, sizeof pieces / sizeof pieces[0])]);
    case 1:
        if (at < n)
            text[at] = (char)below(seed, 256);
        return n;
    case 2:
        cut = below(seed, 12);
        cut = at + cut <= n ? cut : n - at;
        memmove(text + at, text + at + cut, n - at - cut);
        return n - cut;
    default:
        return at > n / 2 ? at : n;
    }
}

/* What the rest of the library relies on. */
static void check_state(const struct state *s)
{
    for (size_t i = 0; i < s->n_procs; i++)
        require(s->procs[i].gpu < s->n_gpus, "a process names a GPU");
    for (size_t i = 0; i < s->n_migs; i++) {
        const struct mig *m = &s->migs[i];
        require(m->gpu < s->n_gpus && m->profile != NULL, "a MIG device has GPU and profile");
        require((m->profile->starts >> m->start & 1) != 0, "a GPU instance is where it may be");
        require(m->ci_start + m->ci_slices <= m->profile->slices || m->ci == ID_NONE,
                "compute instances fit");
    }
    for (size_t i = 0; i < s->n_events; i++)
        require(s->events[i].gpu < s->n_gpus, "an event names a GPU");
}

void fuzz_parser(const char *path, unsigned rounds)
{
    char text[LONGEST + 1];
    unsigned seed = 1;

    for (unsigned round = 0; round < rounds; round++) {
        size_t n = (size_t)snprintf(text, sizeof text, "%s", state_text(round));
        for (unsigned changes = 1 + below(&seed, 6); changes > 0; changes--)
            n = mutate(text, n, &seed);
        FILE *out = fopen(path, "w");
        require(out != NULL && fwrite(text, 1, n, out) == n && fclose(out) == 0, "file written");
        struct state *s = state_read(path);
        if (s != NULL)
            check_state(s);
        state_free(s);
    }
}
