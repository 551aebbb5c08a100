// SPDX-License-Identifier: Apache-2.0

/*
 * GPU performance monitoring (Hopper and newer).
 *
 * A sample remembers what the state file said about its GPU or GPU instance at
 * that moment. The metrics between two samples are those of the second; samples
 * less than 100 ms apart have no data, because the hardware's counters are not
 * refreshed more often.
 */

#include "mock.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

enum { REFRESH_US = 100000, SAMPLE_MAGIC = 0x67706D73 };

struct nvmlGpmSample_st {
    uint32_t magic;
    bool filled;
    uint32_t slot, gi;
    uint64_t taken_us;
    struct gpm_values values;
};

/* The metrics every GPU with GPM has; 0 unless the state file says otherwise. */
static const struct {
    unsigned id;
    const char *short_name, *long_name, *unit;
} metrics[] = {
    {NVML_GPM_METRIC_GRAPHICS_UTIL, "GRACT", "Graphics Engine Utilization", "%"},
    {NVML_GPM_METRIC_SM_UTIL, "SMUTIL", "SM Utilization", "%"},
    {NVML_GPM_METRIC_SM_OCCUPANCY, "SMOCC", "SM Occupancy", "%"},
    {NVML_GPM_METRIC_INTEGER_UTIL, "INTUTIL", "Integer Utilization", "%"},
    {NVML_GPM_METRIC_ANY_TENSOR_UTIL, "ANYTENSOR", "Tensor Utilization", "%"},
    {NVML_GPM_METRIC_DFMA_TENSOR_UTIL, "DFMA", "DFMA Tensor Utilization", "%"},
    {NVML_GPM_METRIC_HMMA_TENSOR_UTIL, "HMMA", "HMMA Tensor Utilization", "%"},
    {NVML_GPM_METRIC_DMMA_TENSOR_UTIL, "DMMA", "DMMA Tensor Utilization", "%"},
    {NVML_GPM_METRIC_IMMA_TENSOR_UTIL, "IMMA", "IMMA Tensor Utilization", "%"},
    {NVML_GPM_METRIC_DRAM_BW_UTIL, "DRAMBW", "DRAM Bandwidth Utilization", "%"},
    {NVML_GPM_METRIC_FP64_UTIL, "FP64", "FP64 Utilization", "%"},
    {NVML_GPM_METRIC_FP32_UTIL, "FP32", "FP32 Utilization", "%"},
    {NVML_GPM_METRIC_FP16_UTIL, "FP16", "FP16 Utilization", "%"},
    {NVML_GPM_METRIC_PCIE_TX_PER_SEC, "PCITX", "PCIe Transmit", "MiB/s"},
    {NVML_GPM_METRIC_PCIE_RX_PER_SEC, "PCIRX", "PCIe Receive", "MiB/s"},
    {NVML_GPM_METRIC_NVLINK_TOTAL_RX_PER_SEC, "NVLRX", "NVLink Receive", "MiB/s"},
    {NVML_GPM_METRIC_NVLINK_TOTAL_TX_PER_SEC, "NVLTX", "NVLink Transmit", "MiB/s"},
};

nvmlReturn_t nvmlGpmQueryDeviceSupport(nvmlDevice_t device, nvmlGpmSupport_t *gpmSupport)
{
    struct target t;

    if (gpmSupport == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (gpmSupport->version != NVML_GPM_SUPPORT_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    gpmSupport->isSupportedDevice = t.gpu->gpm;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpmSampleAlloc(nvmlGpmSample_t *gpmSample)
{
    if (gpmSample == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    gpmSample->handle = calloc(1, sizeof *gpmSample->handle);
    if (gpmSample->handle == NULL)
        return leave(NVML_ERROR_MEMORY);
    gpmSample->handle->magic = SAMPLE_MAGIC;
    return leave(NVML_SUCCESS);
}

/* Works after a shutdown and in spite of faults: it only gives memory back. */
nvmlReturn_t nvmlGpmSampleFree(nvmlGpmSample_t gpmSample)
{
    if (gpmSample.handle == NULL || gpmSample.handle->magic != SAMPLE_MAGIC)
        return NVML_ERROR_INVALID_ARGUMENT;
    gpmSample.handle->magic = 0;
    free(gpmSample.handle);
    return NVML_SUCCESS;
}

static nvmlReturn_t take_sample(const struct target *t, uint32_t gi, struct nvmlGpmSample_st *s)
{
    if (!t->gpu->gpm)
        return NVML_ERROR_NOT_SUPPORTED;
    s->filled = true;
    s->slot = t->gpu->slot;
    s->gi = gi;
    s->taken_us = now_us();
    s->values.n = 0;
    for (size_t i = 0; i < world.state->n_gpms; i++) {
        const struct gpm_values *v = &world.state->gpms[i];
        if (v->gpu == t->gpu->index && v->gi == gi)
            s->values = *v;
    }
    return NVML_SUCCESS;
}

nvmlReturn_t nvmlGpmSampleGet(nvmlDevice_t device, nvmlGpmSample_t gpmSample)
{
    struct target t;

    if (gpmSample.handle == NULL || gpmSample.handle->magic != SAMPLE_MAGIC)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_device(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(take_sample(&t, t.gi, gpmSample.handle));
}

nvmlReturn_t nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned int gpuInstanceId,
                                 nvmlGpmSample_t gpmSample)
{
    struct target t;

    if (gpmSample.handle == NULL || gpmSample.handle->magic != SAMPLE_MAGIC)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->mig)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    for (size_t i = 0; i < world.state->n_migs; i++)
        if (world.state->migs[i].gpu == t.gpu->index && world.state->migs[i].gi == gpuInstanceId)
            return leave(take_sample(&t, gpuInstanceId, gpmSample.handle));
    return leave(NVML_ERROR_INVALID_ARGUMENT);
}

static void put_metric(const struct nvmlGpmSample_st *s, bool fresh, nvmlGpmMetric_t *m)
{
    m->nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    m->value = 0;
    memset(&m->metricInfo, 0, sizeof m->metricInfo);
    for (size_t i = 0; i < COUNT(metrics); i++) {
        if (metrics[i].id != m->metricId)
            continue;
        m->nvmlReturn = NVML_SUCCESS;
        m->metricInfo.shortName = (char *)metrics[i].short_name;
        m->metricInfo.longName = (char *)metrics[i].long_name;
        m->metricInfo.unit = (char *)metrics[i].unit;
    }
    for (uint32_t i = 0; i < s->values.n; i++)
        if (s->values.values[i].id == m->metricId) {
            m->nvmlReturn = NVML_SUCCESS;
            m->value = s->values.values[i].value;
        }
    if (m->nvmlReturn == NVML_SUCCESS && !fresh) {
        m->nvmlReturn = NVML_ERROR_NO_DATA;
        m->value = 0;
    }
}

nvmlReturn_t nvmlGpmMetricsGet(nvmlGpmMetricsGet_t *metricsGet)
{
    if (metricsGet == NULL || metricsGet->numMetrics == 0 ||
        metricsGet->numMetrics > NVML_GPM_METRIC_MAX || metricsGet->sample1.handle == NULL ||
        metricsGet->sample2.handle == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    if (metricsGet->version != NVML_GPM_METRICS_GET_VERSION)
        return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct nvmlGpmSample_st *a = metricsGet->sample1.handle, *b = metricsGet->sample2.handle;
    if (a->magic != SAMPLE_MAGIC || b->magic != SAMPLE_MAGIC || !a->filled || !b->filled ||
        a->slot != b->slot || a->gi != b->gi)
        return leave(NVML_ERROR_INVALID_ARGUMENT);
    bool fresh = b->taken_us >= a->taken_us + REFRESH_US;
    for (unsigned i = 0; i < metricsGet->numMetrics; i++)
        put_metric(b, fresh, &metricsGet->metrics[i]);
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlGpmQueryIfStreamingEnabled(nvmlDevice_t device, unsigned int *state)
{
    struct target t;

    if (state == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->gpm)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *state = 0;
    return leave(NVML_SUCCESS);
}
