// SPDX-License-Identifier: Apache-2.0

#ifndef MOCKNVML_HAMMER_H
#define MOCKNVML_HAMMER_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifndef NVML_NO_UNVERSIONED_FUNC_DEFS
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#endif
#include "nvml.h"

#include <stdbool.h>

struct handles {
    nvmlDevice_t gpu, mig;
    nvmlGpuInstance_t gi;
    nvmlComputeInstance_t ci;
};

/* Counts the call; a code that NVML does not have ends the program. */
void check(const char *call, nvmlReturn_t rc);
/* Ends the program when a rule that holds in every state is broken. */
void require(bool ok, const char *rule);

#define CALL(function, ...) check(#function, function(__VA_ARGS__))

void call_device(nvmlDevice_t d);
void call_lists(nvmlDevice_t d);
void call_mig(struct handles *h);
void call_gpm(struct handles *h);
void call_events(struct handles *h);
void check_uninitialised(void);

/* Replaces the state file by the next of several very different ones. */
void write_state(const char *path);
/* Replaces it by one without faults, so that every call that hangs comes back. */
void write_sound_state(const char *path);
const char *state_text(unsigned i);
/* Parses damaged variants of the state files. */
void fuzz_parser(const char *path, unsigned rounds);
void sleep_seconds(int seconds);

#endif
