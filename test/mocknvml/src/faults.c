// SPDX-License-Identifier: Apache-2.0

/* Faults: `fault` lines make calls fail, hang, wait, or see lists that grow. */

#include "mock.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct {
    const char *kind;
    enum fault_action action;
    nvmlReturn_t code;
} kinds[] = {
    {"lost", FAULT_RETURN, NVML_ERROR_GPU_IS_LOST},
    {"no_permission", FAULT_RETURN, NVML_ERROR_NO_PERMISSION},
    {"not_supported", FAULT_RETURN, NVML_ERROR_NOT_SUPPORTED},
    {"not_supported_memory", FAULT_RETURN, NVML_ERROR_NOT_SUPPORTED},
    {"lib_mismatch", FAULT_RETURN, NVML_ERROR_LIB_RM_VERSION_MISMATCH},
    {"missing", FAULT_RETURN, NVML_ERROR_FUNCTION_NOT_FOUND},
    {"unknown", FAULT_RETURN, NVML_ERROR_UNKNOWN},
    {"reset_required", FAULT_RETURN, NVML_ERROR_RESET_REQUIRED},
    {"operating_system", FAULT_RETURN, NVML_ERROR_OPERATING_SYSTEM},
    {"driver_not_loaded", FAULT_RETURN, NVML_ERROR_DRIVER_NOT_LOADED},
    {"version_mismatch", FAULT_RETURN, NVML_ERROR_ARGUMENT_VERSION_MISMATCH},
    {"not_found", FAULT_RETURN, NVML_ERROR_NOT_FOUND},
    {"not_ready", FAULT_RETURN, NVML_ERROR_NOT_READY},
    {"in_use", FAULT_RETURN, NVML_ERROR_IN_USE},
    {"timeout", FAULT_RETURN, NVML_ERROR_TIMEOUT},
    {"hang", FAULT_HANG, NVML_SUCCESS},
    {"slow", FAULT_SLOW, NVML_SUCCESS},
    {"grow", FAULT_GROW, NVML_SUCCESS},
    {"error", FAULT_RETURN, NVML_ERROR_UNKNOWN}, /* error:NUMBER */
};

/* Reads the number after the colon of `slow:250`; fallback when there is none. */
static bool amount(const char *text, size_t name, uint32_t fallback, uint32_t *out)
{
    char *end;

    *out = fallback;
    if (text[name] == '\0')
        return fallback != 0;
    unsigned long n = strtoul(text + name + 1, &end, 10);
    if (end == text + name + 1 || *end != '\0' || n == 0 || n > 3600000)
        return false;
    *out = (uint32_t)n;
    return true;
}

bool fault_kind_parse(const char *text, struct fault *f)
{
    size_t name = strcspn(text, ":");
    uint32_t n;

    for (size_t i = 0; i < COUNT(kinds); i++) {
        if (strlen(kinds[i].kind) != name || strncmp(kinds[i].kind, text, name) != 0)
            continue;
        f->action = kinds[i].action;
        f->code = kinds[i].code;
        if (strcmp(kinds[i].kind, "not_supported_memory") == 0 && strcmp(f->call, "*") == 0)
            strcpy(f->call, "nvmlDeviceGetMemoryInfo*");
        if (f->action == FAULT_SLOW)
            return amount(text, name, 0, &f->amount);
        if (f->action == FAULT_GROW)
            return amount(text, name, 4, &f->amount);
        if (strcmp(kinds[i].kind, "error") == 0) {
            bool ok = amount(text, name, 0, &n);
            f->code = (nvmlReturn_t)n;
            return ok;
        }
        return text[name] == '\0';
    }
    return false;
}

static bool matches(const struct fault *f, uint32_t gpu, const char *call)
{
    if (f->times != 0 && f->fired >= f->times)
        return false;
    return (f->gpu == GPU_NONE || f->gpu == gpu) && fnmatch(f->call, call, 0) == 0;
}

enum gate fault_gate(uint32_t gpu, const char *call, bool slept, nvmlReturn_t *code, uint32_t *ms)
{
    struct state *s = world.state;

    for (size_t i = 0; i < s->n_faults; i++) {
        struct fault *f = &s->faults[i];
        if (f->action == FAULT_GROW || (f->action == FAULT_SLOW && slept) ||
            !matches(f, gpu, call))
            continue;
        if (f->action == FAULT_HANG)
            return GATE_HANG; /* lasts until the line is gone, whatever times= says */
        f->fired++;
        if (f->action == FAULT_SLOW) {
            *ms = f->amount;
            return GATE_SLOW;
        }
        *code = f->code;
        return GATE_RETURN;
    }
    return GATE_OPEN;
}

uint32_t fault_grow(uint32_t gpu, const char *call)
{
    struct state *s = world.state;

    for (size_t i = 0; i < s->n_faults; i++) {
        struct fault *f = &s->faults[i];
        if (f->action != FAULT_GROW || !matches(f, gpu, call))
            continue;
        f->fired++;
        return f->amount;
    }
    return 0;
}

/* A fault that stays in the file goes on counting. */
void faults_carry(const struct state *old, struct state *new)
{
    if (old == NULL)
        return;
    for (size_t i = 0; i < new->n_faults; i++)
        for (size_t j = 0; j < old->n_faults; j++) {
            struct fault *n = &new->faults[i];
            const struct fault *o = &old->faults[j];
            if (n->gpu == o->gpu && n->action == o->action && n->code == o->code &&
                n->amount == o->amount && n->times == o->times && strcmp(n->call, o->call) == 0)
                n->fired = o->fired;
        }
}
