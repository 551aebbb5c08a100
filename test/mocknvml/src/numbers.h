// SPDX-License-Identifier: Apache-2.0

/* Shapes of the many NVML calls that give one number of a device. */

#ifndef MOCKNVML_NUMBERS_H
#define MOCKNVML_NUMBERS_H

#include "mock.h"

/* `expression` may use t.gpu; a MIG device does not support the call. */
#define GPU_NUMBER(function, type, expression)                                \
    nvmlReturn_t function(nvmlDevice_t device, type *out)                     \
    {                                                                         \
        struct target t;                                                      \
        if (out == NULL)                                                      \
            return NVML_ERROR_INVALID_ARGUMENT;                               \
        nvmlReturn_t rc = enter_gpu(__func__, device, &t);                    \
        if (rc != NVML_SUCCESS)                                               \
            return rc;                                                        \
        *out = (type)(expression);                                            \
        return leave(NVML_SUCCESS);                                           \
    }

/* The same, and a MIG device (t.mig) answers too, often for its parent. */
#define DEVICE_NUMBER(function, type, expression)                             \
    nvmlReturn_t function(nvmlDevice_t device, type *out)                     \
    {                                                                         \
        struct target t;                                                      \
        if (out == NULL)                                                      \
            return NVML_ERROR_INVALID_ARGUMENT;                               \
        nvmlReturn_t rc = enter_device(__func__, device, &t);                 \
        if (rc != NVML_SUCCESS)                                               \
            return rc;                                                        \
        *out = (type)(expression);                                            \
        return leave(NVML_SUCCESS);                                           \
    }

#endif
