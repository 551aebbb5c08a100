// SPDX-License-Identifier: Apache-2.0

/*
 * Utilization of a GPU and of its processes. None of it exists in MIG mode.
 *
 * The driver samples once per period (`option sample_period_us=`). Here a sample
 * carries the time its period began, so that asking twice within one period finds
 * nothing new, as on hardware.
 */

#include "mock.h"

#include <stdlib.h>
#include <string.h>

enum {
    DRIVER_BUFFER = 100, /* what the driver answers when asked how many samples there may be */
    RING = 120,          /* samples GetSamples can look back on */
};

static uint64_t period_start(void)
{
    uint64_t period = world.state->options.sample_period_us, now = now_us();

    return now - now % period;
}

/* The GPU's utilization: as given, else the sum over its processes up to 100. */
static uint32_t gpu_percent(const struct gpu *g, bool memory)
{
    uint32_t given = memory ? g->mem_util : g->util, sum = 0;

    if (given != AUTO)
        return given;
    for (uint32_t i = 0; i < g->n_procs; i++) {
        const struct proc *p = &world.state->procs[g->first_proc + i];
        if (!p->sample_only && proc_listed(p))
            sum += memory ? p->mem_util : p->sm;
    }
    return sum < 100 ? sum : 100;
}

/* Like enter_gpu, for calls that a GPU in MIG mode does not support. */
static nvmlReturn_t enter_without_mig(const char *call, nvmlDevice_t device, struct target *t)
{
    nvmlReturn_t rc = enter_gpu(call, device, t);

    if (rc == NVML_SUCCESS && t->gpu->mig)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    return rc;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *utilization)
{
    struct target t;

    if (utilization == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_without_mig(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    utilization->gpu = gpu_percent(t.gpu, false);
    utilization->memory = gpu_percent(t.gpu, true);
    return leave(NVML_SUCCESS);
}

/* Real drivers count for 20 ms and make the caller wait; `slow:20` does that here. */
nvmlReturn_t nvmlDeviceGetPcieThroughput(nvmlDevice_t device, nvmlPcieUtilCounter_t counter,
                                         unsigned int *value)
{
    struct target t;

    if (value == NULL || counter >= NVML_PCIE_UTIL_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_without_mig(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *value = counter == NVML_PCIE_UTIL_RX_BYTES ? t.gpu->pcie_rx : t.gpu->pcie_tx;
    return leave(NVML_SUCCESS);
}

static nvmlReturn_t engine(const char *call, nvmlDevice_t device, bool encoder,
                           unsigned int *utilization, unsigned int *samplingPeriodUs)
{
    struct target t;

    if (utilization == NULL || samplingPeriodUs == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_without_mig(call, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    *utilization = encoder ? t.gpu->enc_util : t.gpu->dec_util;
    *samplingPeriodUs = world.state->options.sample_period_us;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetEncoderUtilization(nvmlDevice_t device, unsigned int *utilization,
                                             unsigned int *samplingPeriodUs)
{
    return engine(__func__, device, true, utilization, samplingPeriodUs);
}

nvmlReturn_t nvmlDeviceGetDecoderUtilization(nvmlDevice_t device, unsigned int *utilization,
                                             unsigned int *samplingPeriodUs)
{
    return engine(__func__, device, false, utilization, samplingPeriodUs);
}

/* ---- per process ---- */

/* Whether the driver has a sample of this process newer than `since`, and its time. */
static bool has_sample(const struct proc *p, uint64_t since, uint64_t *timestamp)
{
    if (p->sm == 0 && p->mem_util == 0 && p->enc == 0 && p->dec == 0 && p->jpeg == 0 &&
        p->ofa == 0)
        return false;
    if (!p->sample_only && !proc_listed(p))
        return false;
    *timestamp = p->timestamp != 0 ? p->timestamp : period_start();
    return *timestamp > since;
}

static unsigned count_samples(const struct gpu *g, uint64_t since)
{
    uint64_t timestamp;
    unsigned n = 0;

    for (uint32_t i = 0; i < g->n_procs; i++)
        n += has_sample(&world.state->procs[g->first_proc + i], since, &timestamp);
    return n;
}

static void put_sample(nvmlProcessUtilizationSample_t *out, const struct proc *p, uint64_t ts)
{
    *out = (nvmlProcessUtilizationSample_t){
        .pid = p->pid, .timeStamp = ts, .smUtil = p->sm, .memUtil = p->mem_util,
        .encUtil = p->enc, .decUtil = p->dec,
    };
}

/*
 * Asked without a buffer the driver answers with the size of its own, whatever
 * there is to read. With one it writes what is newer than `since`.
 */
static nvmlReturn_t process_samples(const char *call, const struct gpu *g,
                                    nvmlProcessUtilizationSample_t *out, unsigned *count,
                                    uint64_t since)
{
    unsigned room = *count, n = 0, available = count_samples(g, since);
    uint64_t ts;

    if (out == NULL) {
        *count = available > DRIVER_BUFFER ? available : DRIVER_BUFFER;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    uint32_t more = fault_grow(g->index, call);
    if (more > 0 || available > room) {
        *count = more > 0 ? room + more : available;
        return NVML_ERROR_INSUFFICIENT_SIZE;
    }
    for (uint32_t i = 0; i < g->n_procs; i++) {
        const struct proc *p = &world.state->procs[g->first_proc + i];
        if (n < room && has_sample(p, since, &ts))
            put_sample(&out[n++], p, ts);
    }
    *count = n;
    return n > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetProcessUtilization(nvmlDevice_t device,
                                             nvmlProcessUtilizationSample_t *utilization,
                                             unsigned int *processSamplesCount,
                                             unsigned long long lastSeenTimeStamp)
{
    struct target t;

    if (processSamplesCount == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_without_mig(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(process_samples(__func__, t.gpu, utilization, processSamplesCount,
                                 lastSeenTimeStamp));
}

static void put_info(nvmlProcessUtilizationInfo_v1_t *out, const struct proc *p, uint64_t ts)
{
    *out = (nvmlProcessUtilizationInfo_v1_t){
        .pid = p->pid, .timeStamp = ts, .smUtil = p->sm, .memUtil = p->mem_util,
        .encUtil = p->enc, .decUtil = p->dec, .jpgUtil = p->jpeg, .ofaUtil = p->ofa,
    };
}

nvmlReturn_t nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device,
                                                   nvmlProcessesUtilizationInfo_t *info)
{
    struct target t;
    unsigned n = 0;
    uint64_t ts;

    if (info == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (info->version != nvmlProcessesUtilizationInfo_v1)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_without_mig(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    unsigned available = count_samples(t.gpu, info->lastSeenTimeStamp);
    unsigned room = info->procUtilArray != NULL ? info->processSamplesCount : 0;
    uint32_t more = room > 0 ? fault_grow(t.gpu->index, __func__) : 0;
    if (more > 0 || available > room) {
        info->processSamplesCount = more > 0 ? room + more : available;
        return leave(NVML_ERROR_INSUFFICIENT_SIZE);
    }
    for (uint32_t i = 0; i < t.gpu->n_procs; i++) {
        const struct proc *p = &world.state->procs[t.gpu->first_proc + i];
        if (n < room && has_sample(p, info->lastSeenTimeStamp, &ts))
            put_info(&info->procUtilArray[n++], p, ts);
    }
    info->processSamplesCount = n;
    return leave(n > 0 ? NVML_SUCCESS : NVML_ERROR_NOT_FOUND);
}

/* ---- recent samples of the GPU ---- */

static bool sampled_value(const struct gpu *g, nvmlSamplingType_t type, unsigned *value)
{
    switch (type) {
    case NVML_TOTAL_POWER_SAMPLES: *value = (unsigned)g->power; return true;
    case NVML_PROCESSOR_CLK_SAMPLES: *value = g->sm_clock; return true;
    case NVML_MEMORY_CLK_SAMPLES: *value = g->mem_clock; return true;
    case NVML_GPU_UTILIZATION_SAMPLES: *value = gpu_percent(g, false); return !g->mig;
    case NVML_MEMORY_UTILIZATION_SAMPLES: *value = gpu_percent(g, true); return !g->mig;
    case NVML_ENC_UTILIZATION_SAMPLES: *value = g->enc_util; return !g->mig;
    case NVML_DEC_UTILIZATION_SAMPLES: *value = g->dec_util; return !g->mig;
    default: return false;
    }
}

/* The buffer holds the present value at every period of the recent past. */
static nvmlReturn_t put_samples(unsigned value, uint64_t since, unsigned *count,
                                nvmlSample_t *samples)
{
    uint64_t period = world.state->options.sample_period_us, last = period_start();
    uint64_t available = since >= last ? 0 : (last - since + period - 1) / period;
    unsigned n = available < RING ? (unsigned)available : RING;

    if (n == 0)
        return NVML_ERROR_NOT_FOUND;
    if (samples != NULL) {
        n = n < *count ? n : *count;
        for (unsigned i = 0; i < n; i++) {
            samples[i].timeStamp = last - (n - 1 - i) * period;
            samples[i].sampleValue = (nvmlValue_t){.uiVal = value};
        }
    }
    *count = n;
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetSamples(nvmlDevice_t device, nvmlSamplingType_t type,
                                  unsigned long long lastSeenTimeStamp,
                                  nvmlValueType_t *sampleValType, unsigned int *sampleCount,
                                  nvmlSample_t *samples)
{
    struct target t;
    unsigned value;

    if (sampleCount == NULL || sampleValType == NULL || (samples != NULL && *sampleCount == 0))
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!sampled_value(t.gpu, type, &value))
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *sampleValType = NVML_VALUE_TYPE_UNSIGNED_INT;
    return leave(put_samples(value, lastSeenTimeStamp, sampleCount, samples));
}
