// SPDX-License-Identifier: Apache-2.0

/* Memory errors: totals only. */

#include "mock.h"

#include <string.h>

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, nvmlEnableState_t *current,
                                  nvmlEnableState_t *pending)
{
    struct target t;

    if (current == NULL || pending == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->profile->ecc)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *current = *pending = t.gpu->ecc ? NVML_FEATURE_ENABLED : NVML_FEATURE_DISABLED;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, nvmlMemoryErrorType_t errorType,
                                         nvmlEccCounterType_t counterType,
                                         unsigned long long *eccCounts)
{
    struct target t;

    if (eccCounts == NULL || errorType >= NVML_MEMORY_ERROR_TYPE_COUNT ||
        counterType >= NVML_ECC_COUNTER_TYPE_COUNT)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (!t.gpu->ecc)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *eccCounts = errorType == NVML_MEMORY_ERROR_TYPE_CORRECTED ? t.gpu->ecc_corrected
                                                               : t.gpu->ecc_uncorrected;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrRows,
                                       unsigned int *uncRows, unsigned int *isPending,
                                       unsigned int *failureOccurred)
{
    struct target t;

    if (corrRows == NULL || uncRows == NULL || isPending == NULL || failureOccurred == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_gpu(__func__, device, &t);
    if (rc != NVML_SUCCESS)
        return rc;
    if (t.gpu->arch < NVML_DEVICE_ARCH_AMPERE)
        return leave(NVML_ERROR_NOT_SUPPORTED);
    *corrRows = *uncRows = *isPending = *failureOccurred = 0;
    return leave(NVML_SUCCESS);
}
