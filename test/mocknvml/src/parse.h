// SPDX-License-Identifier: Apache-2.0

/*
 * Words and values of one line of the state file. Knows no line type.
 *
 * A line is a word, then `key=value` pairs and bare values, separated by blanks.
 * A value may be in double quotes. `#` at the start of a word begins a comment.
 */

#ifndef MOCKNVML_PARSE_H
#define MOCKNVML_PARSE_H

#include "mock.h"

enum { MAX_WORDS = 96 };

struct parser {
    const char *path;
    unsigned line;
    struct state *state;     /* filled so far; gpu= values are looked up here */
    char error[512];         /* the first error, empty when there is none */
};

struct word {
    char *key;               /* NULL for a bare value */
    char *value;
};

struct words {
    struct word w[MAX_WORDS];
    unsigned n;
};

/* Where a key's value goes: converted, to `offset` bytes into the record. */
struct key {
    const char *name;
    bool (*convert)(struct parser *p, const char *key, const char *value, void *out);
    size_t offset;
};

/* Records the first error with file and line; always returns false. */
bool fail(struct parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

bool split_words(struct parser *p, char *line, struct words *out);
const char *find_word(const struct words *w, const char *key);
/* Stores every pair by the table; an unknown key, a bare value or a bad value is an error. */
bool apply_keys(struct parser *p, const struct words *w, const struct key *table, void *record);
bool require_key(struct parser *p, const struct words *w, const char *key, const char *why);

bool to_u32(struct parser *p, const char *key, const char *value, void *out);
bool to_u64(struct parser *p, const char *key, const char *value, void *out);
bool to_bytes(struct parser *p, const char *key, const char *value, void *out);
bool to_memory(struct parser *p, const char *key, const char *value, void *out); /* or "unknown" */
bool to_milliwatts(struct parser *p, const char *key, const char *value, void *out);
bool to_flag(struct parser *p, const char *key, const char *value, void *out);
bool to_text(struct parser *p, const char *key, const char *value, void *out);
bool to_name(struct parser *p, const char *key, const char *value, void *out);   /* _ is a blank */
bool to_gpu(struct parser *p, const char *key, const char *value, void *out);    /* index or UUID */
bool to_nothing(struct parser *p, const char *key, const char *value, void *out);

#endif
