// SPDX-License-Identifier: Apache-2.0

/* The calls about devices, process lists, MIG, GPM and events. */

#include "hammer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void call_texts(nvmlDevice_t d)
{
    char text[96];
    nvmlPciInfo_t pci;

    CALL(nvmlDeviceGetUUID, d, text, sizeof text);
    CALL(nvmlDeviceGetUUID, d, text, 4);
    CALL(nvmlDeviceGetName, d, text, sizeof text);
    CALL(nvmlDeviceGetSerial, d, text, sizeof text);
    CALL(nvmlDeviceGetVbiosVersion, d, text, sizeof text);
    CALL(nvmlDeviceGetPciInfo, d, &pci);
    CALL(nvmlDeviceGetPciInfo_v2, d, &pci);
    CALL(nvmlDeviceGetPciInfo_v3, d, &pci);
}

static void call_numbers(nvmlDevice_t d)
{
    nvmlDeviceAddressingMode_t addressing = {.version = nvmlDeviceAddressingMode_v1};
    nvmlDeviceArchitecture_t arch;
    nvmlBrandType_t brand;
    nvmlBusType_t bus;
    nvmlComputeMode_t mode;
    nvmlEnableState_t on, pending;
    nvmlGpuTopologyLevel_t level;
    nvmlGpuVirtualizationMode_t virtualization;
    nvmlPstates_t pstate;
    unsigned n;
    int major, minor;

    CALL(nvmlDeviceGetIndex, d, &n);
    CALL(nvmlDeviceGetMinorNumber, d, &n);
    CALL(nvmlDeviceGetModuleId, d, &n);
    CALL(nvmlDeviceGetBoardId, d, &n);
    CALL(nvmlDeviceGetMultiGpuBoard, d, &n);
    CALL(nvmlDeviceGetNumGpuCores, d, &n);
    CALL(nvmlDeviceGetMemoryBusWidth, d, &n);
    CALL(nvmlDeviceGetNumaNodeId, d, &n);
    CALL(nvmlDeviceGetArchitecture, d, &arch);
    CALL(nvmlDeviceGetBrand, d, &brand);
    CALL(nvmlDeviceGetBusType, d, &bus);
    CALL(nvmlDeviceGetComputeMode, d, &mode);
    CALL(nvmlDeviceGetVirtualizationMode, d, &virtualization);
    CALL(nvmlDeviceGetAddressingMode, d, &addressing);
    CALL(nvmlDeviceGetCudaComputeCapability, d, &major, &minor);
    CALL(nvmlDeviceGetPersistenceMode, d, &on);
    CALL(nvmlDeviceGetDisplayMode, d, &on);
    CALL(nvmlDeviceGetDisplayActive, d, &on);
    CALL(nvmlDeviceGetPerformanceState, d, &pstate);
    CALL(nvmlDeviceGetPowerState, d, &pstate);
    CALL(nvmlDeviceGetNvLinkState, d, 0, &on);
    CALL(nvmlDeviceGetTopologyCommonAncestor, d, d, &level);
    CALL(nvmlDeviceGetEccMode, d, &on, &pending);
}

static void call_memory(nvmlDevice_t d)
{
    nvmlMemory_v2_t v2 = {.version = nvmlMemory_v2};
    nvmlMemory_t v1;
    nvmlBAR1Memory_t bar1;
    nvmlGetMemoryLimits_v1_t limits = {.nameSpace = "/sys/fs/cgroup/pod"};

    nvmlReturn_t rc = nvmlDeviceGetMemoryInfo_v2(d, &v2);
    check("nvmlDeviceGetMemoryInfo_v2", rc);
    if (rc == NVML_SUCCESS && v2.used + v2.reserved <= v2.total)
        require(v2.total == v2.used + v2.reserved + v2.free, "total = used + reserved + free");
    rc = nvmlDeviceGetMemoryInfo(d, &v1);
    check("nvmlDeviceGetMemoryInfo", rc);
    if (rc == NVML_SUCCESS && v1.used <= v1.total)
        require(v1.total == v1.used + v1.free, "total = used + free");
    v2.version = 2;
    CALL(nvmlDeviceGetMemoryInfo_v2, d, &v2);
    CALL(nvmlDeviceGetBAR1MemoryInfo, d, &bar1);
    CALL(nvmlDeviceGetMemoryLimits_v1, d, &limits);
}

static void call_power(nvmlDevice_t d)
{
    nvmlTemperature_t temperature = {.version = nvmlTemperature_v1};
    nvmlFieldValue_t fields[] = {{.fieldId = NVML_FI_DEV_GET_GPU_RECOVERY_ACTION},
                                 {.fieldId = NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION},
                                 {.fieldId = NVML_FI_DEV_ECC_SBE_VOL_TOTAL},
                                 {.fieldId = 9999}};
    nvmlEnableState_t on;
    unsigned long long big;
    unsigned n, m, k, j;

    CALL(nvmlDeviceGetPowerUsage, d, &n);
    CALL(nvmlDeviceGetEnforcedPowerLimit, d, &n);
    CALL(nvmlDeviceGetPowerManagementLimit, d, &n);
    CALL(nvmlDeviceGetPowerManagementDefaultLimit, d, &n);
    CALL(nvmlDeviceGetPowerManagementLimitConstraints, d, &n, &m);
    CALL(nvmlDeviceGetPowerManagementMode, d, &on);
    CALL(nvmlDeviceGetTotalEnergyConsumption, d, &big);
    CALL(nvmlDeviceGetTemperature, d, NVML_TEMPERATURE_GPU, &n);
    CALL(nvmlDeviceGetTemperatureV, d, &temperature);
    CALL(nvmlDeviceGetClockInfo, d, NVML_CLOCK_SM, &n);
    CALL(nvmlDeviceGetMaxClockInfo, d, NVML_CLOCK_MEM, &n);
    CALL(nvmlDeviceGetMaxCustomerBoostClock, d, NVML_CLOCK_SM, &n);
    CALL(nvmlDeviceGetApplicationsClock, d, NVML_CLOCK_SM, &n);
    CALL(nvmlDeviceGetDefaultApplicationsClock, d, NVML_CLOCK_SM, &n);
    CALL(nvmlDeviceGetClock, d, NVML_CLOCK_SM, NVML_CLOCK_ID_CURRENT, &n);
    CALL(nvmlDeviceGetCurrentClocksEventReasons, d, &big);
    CALL(nvmlDeviceGetCurrentClocksThrottleReasons, d, &big);
    CALL(nvmlDeviceGetSupportedClocksEventReasons, d, &big);
    CALL(nvmlDeviceGetSupportedClocksThrottleReasons, d, &big);
    CALL(nvmlDeviceGetTotalEccErrors, d, NVML_MEMORY_ERROR_TYPE_CORRECTED, NVML_VOLATILE_ECC, &big);
    CALL(nvmlDeviceGetRemappedRows, d, &n, &m, &k, &j);
    CALL(nvmlDeviceGetFieldValues, d, 4, fields);
}

void call_device(nvmlDevice_t d)
{
    call_texts(d);
    call_numbers(d);
    call_memory(d);
    call_power(d);
}

/* Asks for the size first, as clients do, and again with one entry too few. */
#define LIST(function, type)                                                  \
    do {                                                                      \
        unsigned count = 0;                                                   \
        CALL(function, d, &count, NULL);                                      \
        count = count < 512 ? count : 512;                                    \
        type *rows = calloc(count + 1, sizeof *rows);                         \
        unsigned room = count;                                                \
        CALL(function, d, &room, rows);                                       \
        room = count > 0 ? count - 1 : 0;                                     \
        CALL(function, d, &room, rows);                                       \
        free(rows);                                                           \
    } while (0)

static void call_process_lists(nvmlDevice_t d)
{
    LIST(nvmlDeviceGetComputeRunningProcesses, nvmlProcessInfo_v1_t);
    LIST(nvmlDeviceGetComputeRunningProcesses_v2, nvmlProcessInfo_v2_t);
    LIST(nvmlDeviceGetComputeRunningProcesses_v3, nvmlProcessInfo_t);
    LIST(nvmlDeviceGetGraphicsRunningProcesses, nvmlProcessInfo_v1_t);
    LIST(nvmlDeviceGetGraphicsRunningProcesses_v2, nvmlProcessInfo_v2_t);
    LIST(nvmlDeviceGetGraphicsRunningProcesses_v3, nvmlProcessInfo_t);
    LIST(nvmlDeviceGetMPSComputeRunningProcesses, nvmlProcessInfo_v1_t);
    LIST(nvmlDeviceGetMPSComputeRunningProcesses_v2, nvmlProcessInfo_v2_t);
    LIST(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlProcessInfo_t);

    nvmlProcessDetail_v1_t rows[4];
    nvmlProcessDetailList_t list = {.version = nvmlProcessDetailList_v1,
                                    .mode = NVML_PROCESS_MODE_ALL};
    CALL(nvmlDeviceGetRunningProcessDetailList, d, &list);
    list.numProcArrayEntries = 4;
    list.procArray = rows;
    CALL(nvmlDeviceGetRunningProcessDetailList, d, &list);
}

static void call_utilization(nvmlDevice_t d)
{
    nvmlUtilization_t rates;
    nvmlProcessUtilizationSample_t samples[100];
    nvmlProcessUtilizationInfo_v1_t infos[8];
    nvmlProcessesUtilizationInfo_t info = {.version = nvmlProcessesUtilizationInfo_v1};
    nvmlSample_t values[16];
    nvmlValueType_t type;
    unsigned n = 0, period;

    CALL(nvmlDeviceGetUtilizationRates, d, &rates);
    CALL(nvmlDeviceGetPcieThroughput, d, NVML_PCIE_UTIL_RX_BYTES, &n);
    CALL(nvmlDeviceGetEncoderUtilization, d, &n, &period);
    CALL(nvmlDeviceGetDecoderUtilization, d, &n, &period);
    CALL(nvmlDeviceGetProcessUtilization, d, NULL, &n, 0);
    n = 100;
    CALL(nvmlDeviceGetProcessUtilization, d, samples, &n, 0);
    CALL(nvmlDeviceGetProcessesUtilizationInfo, d, &info);
    info.processSamplesCount = 8;
    info.procUtilArray = infos;
    CALL(nvmlDeviceGetProcessesUtilizationInfo, d, &info);
    CALL(nvmlDeviceGetSamples, d, NVML_TOTAL_POWER_SAMPLES, 0, &type, &n, NULL);
    n = 16;
    CALL(nvmlDeviceGetSamples, d, NVML_GPU_UTILIZATION_SAMPLES, 0, &type, &n, values);
}

static void call_accounting(nvmlDevice_t d)
{
    nvmlAccountingStats_v2_t v2 = {.pid = 1};
    nvmlAccountingStats_t v1;
    nvmlEnableState_t on;
    unsigned n = 0;

    CALL(nvmlDeviceGetAccountingMode, d, &on);
    CALL(nvmlDeviceGetAccountingBufferSize, d, &n);
    CALL(nvmlDeviceGetAccountingStats, d, 1, &v1);
    CALL(nvmlDeviceGetAccountingStats_v2, d, &v2);
    LIST(nvmlDeviceGetAccountingPids, unsigned);
}

void call_lists(nvmlDevice_t d)
{
    call_process_lists(d);
    call_utilization(d);
    call_accounting(d);
}

static void call_mig_devices(struct handles *h)
{
    nvmlDeviceAttributes_t attributes;
    nvmlDevice_t other;
    unsigned n, m;

    CALL(nvmlDeviceGetMigMode, h->gpu, &n, &m);
    CALL(nvmlDeviceGetMaxMigDeviceCount, h->gpu, &n);
    for (unsigned i = 0; i < 8; i++)
        CALL(nvmlDeviceGetMigDeviceHandleByIndex, h->gpu, i, i == 1 ? &h->mig : &other);
    CALL(nvmlDeviceIsMigDeviceHandle, h->mig, &n);
    CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, h->mig, &other);
    CALL(nvmlDeviceGetGpuInstanceId, h->mig, &n);
    CALL(nvmlDeviceGetComputeInstanceId, h->mig, &n);
    CALL(nvmlDeviceGetAttributes, h->mig, &attributes);
    CALL(nvmlDeviceGetAttributes_v2, h->mig, &attributes);
}

static void call_gpu_instances(struct handles *h, unsigned profile)
{
    nvmlGpuInstanceProfileInfo_t v1 = {0};
    nvmlGpuInstanceProfileInfo_v2_t v2 = {.version = nvmlGpuInstanceProfileInfo_v2};
    nvmlGpuInstanceProfileInfo_v3_t v3 = {.version = nvmlGpuInstanceProfileInfo_v3};
    nvmlGpuInstancePlacement_t placements[8];
    nvmlGpuInstance_t instances[8];
    nvmlGpuInstanceInfo_t info;
    unsigned n = 8;

    CALL(nvmlDeviceGetGpuInstanceProfileInfo, h->gpu, profile, &v1);
    CALL(nvmlDeviceGetGpuInstanceProfileInfoV, h->gpu, profile, &v2);
    CALL(nvmlDeviceGetGpuInstanceProfileInfoV, h->gpu, profile, (void *)&v3);
    CALL(nvmlDeviceGetGpuInstanceProfileInfoByIdV, h->gpu, v1.id, &v2);
    CALL(nvmlDeviceGetGpuInstancePossiblePlacements, h->gpu, v1.id, NULL, &n);
    n = 8;
    CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, h->gpu, v1.id, placements, &n);
    CALL(nvmlDeviceGetGpuInstanceRemainingCapacity, h->gpu, v1.id, &n);
    n = 8;
    CALL(nvmlDeviceGetGpuInstances, h->gpu, v1.id, instances, &n);
    CALL(nvmlDeviceGetGpuInstanceById, h->gpu, 1, &h->gi);
    CALL(nvmlGpuInstanceGetInfo, h->gi, &info);
}

static void call_compute_instances(struct handles *h, unsigned profile)
{
    nvmlComputeInstanceProfileInfo_t v1 = {0};
    nvmlComputeInstanceProfileInfo_v2_t v2 = {.version = nvmlComputeInstanceProfileInfo_v2};
    nvmlComputeInstanceProfileInfo_v3_t v3 = {.version = nvmlComputeInstanceProfileInfo_v3};
    nvmlComputeInstancePlacement_t placements[8];
    nvmlComputeInstance_t instances[8];
    nvmlComputeInstanceInfo_t info;
    unsigned n = 8;

    CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, h->gi, profile, 0, &v1);
    CALL(nvmlGpuInstanceGetComputeInstanceProfileInfoV, h->gi, profile, 0, &v2);
    CALL(nvmlGpuInstanceGetComputeInstanceProfileInfoV, h->gi, profile, 0, (void *)&v3);
    CALL(nvmlGpuInstanceGetComputeInstanceRemainingCapacity, h->gi, profile, &n);
    n = 8;
    CALL(nvmlGpuInstanceGetComputeInstancePossiblePlacements, h->gi, profile, placements, &n);
    n = 8;
    CALL(nvmlGpuInstanceGetComputeInstances, h->gi, profile, instances, &n);
    CALL(nvmlGpuInstanceGetComputeInstanceById, h->gi, 0, &h->ci);
    CALL(nvmlComputeInstanceGetInfo, h->ci, &info);
    CALL(nvmlComputeInstanceGetInfo_v2, h->ci, &info);
}

void call_mig(struct handles *h)
{
    call_mig_devices(h);
    for (unsigned profile = 0; profile <= NVML_GPU_INSTANCE_PROFILE_COUNT; profile++)
        call_gpu_instances(h, profile);
    for (unsigned profile = 0; profile <= NVML_COMPUTE_INSTANCE_PROFILE_COUNT; profile++)
        call_compute_instances(h, profile);
}

void call_gpm(struct handles *h)
{
    nvmlGpmSupport_t support = {.version = NVML_GPM_SUPPORT_VERSION};
    nvmlGpmMetricsGet_t *metrics = calloc(1, sizeof *metrics);
    unsigned n;

    metrics->version = NVML_GPM_METRICS_GET_VERSION;
    metrics->numMetrics = 2;
    metrics->metrics[0].metricId = NVML_GPM_METRIC_SM_UTIL;
    metrics->metrics[1].metricId = 400;
    CALL(nvmlGpmQueryDeviceSupport, h->gpu, &support);
    CALL(nvmlGpmQueryIfStreamingEnabled, h->gpu, &n);
    CALL(nvmlGpmSampleAlloc, &metrics->sample1);
    CALL(nvmlGpmSampleAlloc, &metrics->sample2);
    CALL(nvmlGpmSampleGet, h->gpu, metrics->sample1);
    CALL(nvmlGpmMigSampleGet, h->gpu, 1, metrics->sample2);
    CALL(nvmlGpmMetricsGet, metrics);
    CALL(nvmlGpmSampleGet, h->gpu, metrics->sample2);
    CALL(nvmlGpmMetricsGet, metrics);
    CALL(nvmlGpmSampleFree, metrics->sample1);
    CALL(nvmlGpmSampleFree, metrics->sample2);
    free(metrics);
}

void call_events(struct handles *h)
{
    nvmlEventSet_t set = {NULL};
    nvmlEventSetWait_v3_t v3 = {.timeoutMs = 0};
    nvmlEventData_t data;
    unsigned long long types;

    CALL(nvmlEventSetCreate, &set);
    CALL(nvmlDeviceGetSupportedEventTypes, h->gpu, &types);
    CALL(nvmlDeviceRegisterEvents, h->gpu, nvmlEventTypeXidCriticalError, set);
    CALL(nvmlEventSetWait, set, &data, 0);
    CALL(nvmlEventSetWait_v2, set, &data, 1);
    CALL(nvmlEventSetWait_v3, set, &v3);
    CALL(nvmlEventSetFree, set);
    CALL(nvmlEventSetFree, set); /* again: refused */
}

/* Nothing but starting works before the library was started. */
void check_uninitialised(void)
{
    nvmlDevice_t d;
    nvmlMemory_t memory;
    unsigned n;

    require(nvmlDeviceGetCount_v2(&n) == NVML_ERROR_UNINITIALIZED, "uninitialised at first");
    require(nvmlDeviceGetHandleByIndex_v2(0, &d) == NVML_ERROR_UNINITIALIZED, "no handle yet");
    require(nvmlShutdown() == NVML_ERROR_UNINITIALIZED, "nothing to shut down");
    require(nvmlInit_v2() == NVML_SUCCESS, "the library starts");
    require(nvmlDeviceGetHandleByIndex_v2(0, &d) == NVML_SUCCESS, "first GPU");
    require(nvmlShutdown() == NVML_SUCCESS, "the library stops");
    require(nvmlDeviceGetMemoryInfo(d, &memory) == NVML_ERROR_UNINITIALIZED, "stopped");
}
