// SPDX-License-Identifier: Apache-2.0

/*
 * Power, energy, clocks and temperature.
 *
 * Energy counts up in each process: it starts at `energy=` (0 without) and grows
 * by power x time from then on. A changed `energy=` sets it anew.
 */

#include "mock.h"
#include "numbers.h"

#include <string.h>

/* Adds power x time since the last addition. */
static void add_energy(struct slot *s)
{
    uint64_t now = now_us();

    if (s->energy_at_us != 0 && now > s->energy_at_us)
        s->energy_nj += s->power_mw * (now - s->energy_at_us); /* mW x us = nJ */
    s->energy_at_us = now;
}

/* Brings every counter up to now and takes over power and energy of a new state. */
void energy_update(void)
{
    for (size_t i = 0; i < world.state->n_gpus; i++) {
        const struct gpu *g = &world.state->gpus[i];
        struct slot *s = &world.slots[g->slot];
        add_energy(s);
        if (g->energy != s->energy_base_mj) {
            s->energy_base_mj = g->energy;
            s->energy_nj = 0;
        }
        s->power_mw = g->power;
    }
}

/* The counter lives in the driver: a new driver starts at zero. */
void energy_reset(struct slot *s)
{
    s->energy_at_us = s->energy_nj = s->energy_base_mj = s->power_mw = 0;
}

static uint64_t energy_now(const struct gpu *g)
{
    struct slot *s = &world.slots[g->slot];

    add_energy(s);
    return s->energy_base_mj + s->energy_nj / 1000000;
}

nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t device, unsigned long long *energy)
{
    struct target t;

    if (energy == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *energy = energy_now(t.gpu);
    return leave(NVML_SUCCESS);
}

GPU_NUMBER(nvmlDeviceGetPowerUsage, unsigned int, t.gpu->power)
GPU_NUMBER(nvmlDeviceGetPowerState, nvmlPstates_t, NVML_PSTATE_0)

/* The shape of the power limit calls; a GPU without limits (GB10) supports none of them. */
#define POWER_LIMIT(function, type, expression)                               \
    nvmlReturn_t function(nvmlDevice_t device, type *out)                     \
    {                                                                         \
        struct target t;                                                      \
        if (out == NULL)                                                      \
            return NVML_ERROR_INVALID_ARGUMENT;                               \
        nvmlReturn_t rc = enter_gpu(__func__, device, &t);                    \
        if (rc != NVML_SUCCESS)                                               \
            return rc;                                                        \
        if (t.gpu->power_limit == 0)                                          \
            return leave(NVML_ERROR_NOT_SUPPORTED);                           \
        *out = (type)(expression);                                            \
        return leave(NVML_SUCCESS);                                           \
    }

POWER_LIMIT(nvmlDeviceGetEnforcedPowerLimit, unsigned int, t.gpu->power_limit)
POWER_LIMIT(nvmlDeviceGetPowerManagementLimit, unsigned int, t.gpu->power_limit)
POWER_LIMIT(nvmlDeviceGetPowerManagementDefaultLimit, unsigned int,
            t.gpu->profile->max_watts * 1000)
POWER_LIMIT(nvmlDeviceGetPowerManagementMode, nvmlEnableState_t, NVML_FEATURE_ENABLED)

nvmlReturn_t nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device,
                                                          unsigned int *minLimit,
                                                          unsigned int *maxLimit)
{
    struct target t;

    if (minLimit == NULL || maxLimit == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.gpu->power_limit == 0)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *minLimit = t.gpu->profile->min_watts * 1000;
    *maxLimit = t.gpu->profile->max_watts * 1000;
    return leave(NVML_SUCCESS);
}

/* ---- clocks ---- */

static nvmlReturn_t clock_of(const char *call, nvmlDevice_t device, nvmlClockType_t type, bool max,
                             unsigned int *clock)
{
    struct target t;

    if (clock == NULL || type >= NVML_CLOCK_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (type == NVML_CLOCK_MEM)
        *clock = max ? t.gpu->mem_clock_max : t.gpu->mem_clock;
    else
        *clock = max ? t.gpu->sm_clock_max : t.gpu->sm_clock;
    return leave(*clock != 0 ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED);
}

nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t device, nvmlClockType_t type, unsigned int *clock)
{
    return clock_of(__func__, device, type, false, clock);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, nvmlClockType_t type,
                                       unsigned int *clock)
{
    return clock_of(__func__, device, type, true, clock);
}

nvmlReturn_t nvmlDeviceGetMaxCustomerBoostClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                                unsigned int *clockMHz)
{
    return clock_of(__func__, device, clockType, true, clockMHz);
}

nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                            unsigned int *clockMHz)
{
    return clock_of(__func__, device, clockType, true, clockMHz);
}

nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                                   unsigned int *clockMHz)
{
    return clock_of(__func__, device, clockType, true, clockMHz);
}

nvmlReturn_t nvmlDeviceGetClock(nvmlDevice_t device, nvmlClockType_t clockType,
                                nvmlClockId_t clockId, unsigned int *clockMHz)
{
    if (clockId >= NVML_CLOCK_ID_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    return clock_of(__func__, device, clockType, clockId != NVML_CLOCK_ID_CURRENT, clockMHz);
}

GPU_NUMBER(nvmlDeviceGetCurrentClocksEventReasons, unsigned long long, t.gpu->clock_reasons)
GPU_NUMBER(nvmlDeviceGetCurrentClocksThrottleReasons, unsigned long long, t.gpu->clock_reasons)
GPU_NUMBER(nvmlDeviceGetSupportedClocksEventReasons, unsigned long long, nvmlClocksEventReasonAll)
GPU_NUMBER(nvmlDeviceGetSupportedClocksThrottleReasons, unsigned long long,
           nvmlClocksEventReasonAll)

/* ---- temperature ---- */

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, nvmlTemperatureSensors_t sensorType,
                                      unsigned int *temp)
{
    struct target t;

    if (temp == NULL || sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *temp = t.gpu->temperature;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetTemperatureV(nvmlDevice_t device, nvmlTemperature_t *temperature)
{
    struct target t;

    if (temperature == NULL || temperature->sensorType != NVML_TEMPERATURE_GPU)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (temperature->version != nvmlTemperature_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    temperature->temperature = (int)t.gpu->temperature;
    return leave(NVML_SUCCESS);
}

/* ---- field values ---- */

static bool field_given(const struct gpu *g, unsigned id, uint64_t *value)
{
    for (size_t i = 0; i < world.state->n_fields; i++) {
        const struct field *f = &world.state->fields[i];
        if (f->gpu == g->index && f->id == id) {
            *value = f->value;
            return true;
        }
    }
    return false;
}

/* Fields that follow from the gpu line; a `field` line goes before them. */
static bool field_value(const struct gpu *g, unsigned id, uint64_t *value, nvmlValueType_t *type)
{
    *type = NVML_VALUE_TYPE_UNSIGNED_INT;
    switch (id) {
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION:
    case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_SBE_AGG_TOTAL:
    case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_DBE_AGG_TOTAL:
        *type = NVML_VALUE_TYPE_UNSIGNED_LONG_LONG;
    }
    if (field_given(g, id, value))
        return true;
    switch (id) {
    case NVML_FI_DEV_ECC_CURRENT:
    case NVML_FI_DEV_ECC_PENDING: *value = g->ecc; return true;
    case NVML_FI_DEV_ECC_SBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_SBE_AGG_TOTAL: *value = g->ecc_corrected; return g->ecc;
    case NVML_FI_DEV_ECC_DBE_VOL_TOTAL:
    case NVML_FI_DEV_ECC_DBE_AGG_TOTAL: *value = g->ecc_uncorrected; return g->ecc;
    case NVML_FI_DEV_MEMORY_TEMP: *value = g->mem_temperature; return true;
    case NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION: *value = energy_now(g); return true;
    case NVML_FI_DEV_POWER_AVERAGE:
    case NVML_FI_DEV_POWER_INSTANT: *value = g->power; return true;
    case NVML_FI_DEV_POWER_CURRENT_LIMIT: *value = g->power_limit; return g->power_limit != 0;
    case NVML_FI_DEV_REMAPPED_COR:
    case NVML_FI_DEV_REMAPPED_UNC:
    case NVML_FI_DEV_REMAPPED_PENDING:
    case NVML_FI_DEV_REMAPPED_FAILURE: *value = 0; return true;
    case NVML_FI_DEV_GET_GPU_RECOVERY_ACTION: *value = g->recovery; return true;
    default: return false;
    }
}

nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t device, int valuesCount,
                                      nvmlFieldValue_t *values)
{
    struct target t;

    if (values == NULL || valuesCount <= 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    for (int i = 0; i < valuesCount; i++) {
        nvmlFieldValue_t *v = &values[i];
        uint64_t value = 0;
        bool known = field_value(t.gpu, v->fieldId, &value, &v->valueType);
        v->nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
        v->value = (nvmlValue_t){.ullVal = value};
        v->timestamp = (long long)now_us();
        v->latencyUsec = 1;
    }
    return leave(NVML_SUCCESS);
}
