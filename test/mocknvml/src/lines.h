// SPDX-License-Identifier: Apache-2.0

/* The line types of the state file: each handler adds one record to parser.state. */

#ifndef MOCKNVML_LINES_H
#define MOCKNVML_LINES_H

#include "parse.h"

/* Handles one line by its first word; false with parser.error set. */
bool add_line(struct parser *p, struct words *w);

/* lines_gpu.c */
bool add_gpu(struct parser *p, struct words *w);
/* lines_mig.c */
bool add_mig(struct parser *p, struct words *w);
bool add_gpu_instance(struct parser *p, struct words *w);
/* lines_proc.c */
bool add_proc(struct parser *p, struct words *w);
bool add_sample(struct parser *p, struct words *w);
bool add_acct(struct parser *p, struct words *w);

/* Makes room for one more element, cleared, at the end of an array; NULL without memory. */
void *grow(struct parser *p, void **array, size_t *count, size_t size);

/* Lets `mig 1 ...` stand for `mig gpu=1 ...`. */
void allow_bare_gpu(struct words *w);

/* A table value for words: `none`, `hmm`, ... stored as their position, or the number itself. */
bool to_choice(struct parser *p, const char *key, const char *value, uint32_t *out,
               const char *const *names, unsigned n);

#endif
