// SPDX-License-Identifier: Apache-2.0

/* Words and values of one line of the state file. */

#include "parse.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool fail(struct parser *p, const char *format, ...)
{
    va_list args;

    if (p->error[0] != '\0')
        return false;
    int n = snprintf(p->error, sizeof p->error, "%s:%u: ", p->path, p->line);
    if (n < 0 || (size_t)n >= sizeof p->error)
        return false;
    va_start(args, format);
    vsnprintf(p->error + n, sizeof p->error - (size_t)n, format, args);
    va_end(args);
    return false;
}

/* Cuts one word off *cursor and returns it, NULL at the end of the line or at a comment. */
static char *next_word(char **cursor, bool *unclosed)
{
    char *in = *cursor;
    while (isspace((unsigned char)*in))
        in++;
    if (*in == '\0' || *in == '#')
        return NULL;

    char *word = in, *out = in;
    bool quoted = false;
    for (; *in != '\0' && (quoted || !isspace((unsigned char)*in)); in++) {
        if (*in == '"')
            quoted = !quoted;
        else
            *out++ = *in;
    }
    if (*in != '\0')
        in++;
    *out = '\0';
    *cursor = in;
    *unclosed = quoted;
    return word;
}

bool split_words(struct parser *p, char *line, struct words *out)
{
    bool unclosed = false;
    char *text;

    out->n = 0;
    while ((text = next_word(&line, &unclosed)) != NULL) {
        if (unclosed)
            return fail(p, "quote is not closed in \"%s\"", text);
        if (out->n == MAX_WORDS)
            return fail(p, "more than %d words on one line", MAX_WORDS);
        struct word *w = &out->w[out->n++];
        char *equals = strchr(text, '=');
        w->key = equals != NULL ? text : NULL;
        w->value = equals != NULL ? equals + 1 : text;
        if (equals != NULL)
            *equals = '\0';
    }
    return true;
}

const char *find_word(const struct words *w, const char *key)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->w[i].key != NULL && strcmp(w->w[i].key, key) == 0)
            return w->w[i].value;
    return NULL;
}

bool require_key(struct parser *p, const struct words *w, const char *key, const char *why)
{
    if (find_word(w, key) != NULL)
        return true;
    return fail(p, "%s line needs %s=: %s", w->w[0].value, key, why);
}

static bool apply_key(struct parser *p, const struct words *w, unsigned i,
                      const struct key *table, void *record)
{
    const struct word *word = &w->w[i];

    if (word->key == NULL)
        return fail(p, "\"%s\" is not key=value", word->value);
    for (unsigned j = 1; j < i; j++)
        if (w->w[j].key != NULL && strcmp(w->w[j].key, word->key) == 0)
            return fail(p, "%s= is given twice", word->key);
    for (const struct key *k = table; k->name != NULL; k++)
        if (strcmp(k->name, word->key) == 0)
            return k->convert(p, word->key, word->value, (char *)record + k->offset);
    return fail(p, "a %s line has no key \"%s\"", w->w[0].value, word->key);
}

bool apply_keys(struct parser *p, const struct words *w, const struct key *table, void *record)
{
    for (unsigned i = 1; i < w->n; i++)
        if (!apply_key(p, w, i, table, record))
            return false;
    return true;
}

/* Reads a whole number, decimal or 0x hexadecimal; *rest is what follows the digits. */
static bool number(struct parser *p, const char *key, const char *value, uint64_t *out,
                   const char **rest)
{
    char *end;
    int base = strncmp(value, "0x", 2) == 0 ? 16 : 10;

    if (!isdigit((unsigned char)value[0]))
        return fail(p, "%s=%s: want a whole number", key, value);
    errno = 0;
    *out = strtoull(value, &end, base);
    if (errno == ERANGE)
        return fail(p, "%s=%s: number is too large", key, value);
    *rest = end;
    return true;
}

bool to_u64(struct parser *p, const char *key, const char *value, void *out)
{
    const char *rest;
    uint64_t n;

    if (!number(p, key, value, &n, &rest))
        return false;
    if (*rest != '\0')
        return fail(p, "%s=%s: want a whole number, not \"%s\" after it", key, value, rest);
    *(uint64_t *)out = n;
    return true;
}

bool to_u32(struct parser *p, const char *key, const char *value, void *out)
{
    uint64_t n;

    if (!to_u64(p, key, value, &n))
        return false;
    if (n > UINT32_MAX)
        return fail(p, "%s=%s: number is too large", key, value);
    *(uint32_t *)out = (uint32_t)n;
    return true;
}

bool to_bytes(struct parser *p, const char *key, const char *value, void *out)
{
    static const struct { const char *suffix; unsigned shift; } units[] = {
        {"", 0}, {"B", 0}, {"K", 10}, {"KiB", 10}, {"M", 20}, {"MiB", 20},
        {"G", 30}, {"GiB", 30}, {"T", 40}, {"TiB", 40},
    };
    const char *rest;
    uint64_t n;

    if (!number(p, key, value, &n, &rest))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strcmp(rest, units[i].suffix) != 0)
            continue;
        if (n > (UINT64_MAX >> 1) >> units[i].shift)
            return fail(p, "%s=%s: number is too large", key, value);
        *(uint64_t *)out = n << units[i].shift;
        return true;
    }
    return fail(p, "%s=%s: unit \"%s\" is none of KiB, MiB, GiB, TiB", key, value, rest);
}

bool to_memory(struct parser *p, const char *key, const char *value, void *out)
{
    if (strcmp(value, "unknown") != 0)
        return to_bytes(p, key, value, out);
    *(uint64_t *)out = MEM_UNKNOWN;
    return true;
}

bool to_milliwatts(struct parser *p, const char *key, const char *value, void *out)
{
    const char *rest;
    uint64_t n;

    if (!number(p, key, value, &n, &rest))
        return false;
    if (strcmp(rest, "W") == 0)
        n *= 1000;
    else if (*rest != '\0' && strcmp(rest, "mW") != 0)
        return fail(p, "%s=%s: unit \"%s\" is neither mW nor W", key, value, rest);
    if (n > UINT32_MAX)
        return fail(p, "%s=%s: number is too large", key, value);
    *(uint64_t *)out = n;
    return true;
}

bool to_flag(struct parser *p, const char *key, const char *value, void *out)
{
    if (strcmp(value, "0") != 0 && strcmp(value, "1") != 0)
        return fail(p, "%s=%s: want 0 or 1", key, value);
    *(bool *)out = value[0] == '1';
    return true;
}

bool to_text(struct parser *p, const char *key, const char *value, void *out)
{
    size_t n = strlen(value);

    if (n == 0 || n >= TEXT_SIZE)
        return fail(p, "%s=%s: want 1 to %d characters", key, value, TEXT_SIZE - 1);
    memcpy(out, value, n + 1);
    return true;
}

bool to_name(struct parser *p, const char *key, const char *value, void *out)
{
    if (!to_text(p, key, value, out))
        return false;
    for (char *c = out; *c != '\0'; c++)
        if (*c == '_')
            *c = ' ';
    return true;
}

bool to_gpu(struct parser *p, const char *key, const char *value, void *out)
{
    const struct state *s = p->state;
    char index[16];

    for (uint32_t i = 0; i < s->n_gpus; i++) {
        snprintf(index, sizeof index, "%u", i);
        if (strcmp(value, index) == 0 || strcmp(value, s->gpus[i].uuid) == 0) {
            *(uint32_t *)out = i;
            return true;
        }
    }
    return fail(p, "%s=%s: no gpu line above has this index or UUID", key, value);
}

bool to_nothing(struct parser *p, const char *key, const char *value, void *out)
{
    (void)p, (void)key, (void)value, (void)out;
    return true;
}
