// SPDX-License-Identifier: Apache-2.0

/* Calls about no device: versions, errors, process names. */

#include "mock.h"

#include <stdio.h>
#include <string.h>

const char *nvmlErrorString(nvmlReturn_t result)
{
    switch (result) {
    case NVML_SUCCESS: return "Success";
    case NVML_ERROR_UNINITIALIZED: return "Uninitialized";
    case NVML_ERROR_INVALID_ARGUMENT: return "Invalid Argument";
    case NVML_ERROR_NOT_SUPPORTED: return "Not Supported";
    case NVML_ERROR_NO_PERMISSION: return "Insufficient Permissions";
    case NVML_ERROR_ALREADY_INITIALIZED: return "Already Initialized";
    case NVML_ERROR_NOT_FOUND: return "Not Found";
    case NVML_ERROR_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NVML_ERROR_INSUFFICIENT_POWER: return "Insufficient External Power";
    case NVML_ERROR_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NVML_ERROR_TIMEOUT: return "Timeout";
    case NVML_ERROR_IRQ_ISSUE: return "Interrupt Request Issue";
    case NVML_ERROR_LIBRARY_NOT_FOUND: return "NVML Shared Library Not Found";
    case NVML_ERROR_FUNCTION_NOT_FOUND: return "Function Not Found";
    case NVML_ERROR_CORRUPTED_INFOROM: return "Corrupted infoROM";
    case NVML_ERROR_GPU_IS_LOST: return "GPU is lost";
    case NVML_ERROR_RESET_REQUIRED: return "GPU requires reset";
    case NVML_ERROR_OPERATING_SYSTEM: return "GPU access blocked by the operating system";
    case NVML_ERROR_LIB_RM_VERSION_MISMATCH: return "Driver/library version mismatch";
    case NVML_ERROR_IN_USE: return "In use by another client";
    case NVML_ERROR_MEMORY: return "Insufficient Memory";
    case NVML_ERROR_NO_DATA: return "No data";
    case NVML_ERROR_INSUFFICIENT_RESOURCES: return "Insufficient Resources";
    case NVML_ERROR_ARGUMENT_VERSION_MISMATCH: return "Argument version mismatch";
    case NVML_ERROR_DEPRECATED: return "Deprecated";
    case NVML_ERROR_NOT_READY: return "System is not in ready state";
    case NVML_ERROR_GPU_NOT_FOUND: return "No GPUs were found";
    case NVML_ERROR_INVALID_STATE: return "Invalid state";
    default: return "Unknown Error";
    }
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *version, unsigned int length)
{
    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    return leave(copy_text(version, length, world.state->options.driver));
}

nvmlReturn_t nvmlSystemGetNVMLVersion(char *version, unsigned int length)
{
    char text[2 * TEXT_SIZE];

    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    const struct options *o = &world.state->options;
    if (o->nvml[0] != '\0')
        return leave(copy_text(version, length, o->nvml));
    snprintf(text, sizeof text, "%u.%s", o->cuda / 1000, o->driver);
    return leave(copy_text(version, length, text));
}

static nvmlReturn_t cuda_version(const char *call, int *version)
{
    if (version == NULL)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(call);
    if (rc != NVML_SUCCESS)
        return rc;
    *version = (int)world.state->options.cuda;
    return leave(NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *cudaDriverVersion)
{
    return cuda_version(__func__, cudaDriverVersion);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *cudaDriverVersion)
{
    return cuda_version(__func__, cudaDriverVersion);
}

/* The first word of the process' command line, cut to the caller's buffer as NVML does. */
nvmlReturn_t nvmlSystemGetProcessName(unsigned int pid, char *name, unsigned int length)
{
    char path[64], command[1024] = "";

    if (name == NULL || length == 0)
        return NVML_ERROR_INVALID_ARGUMENT;
    nvmlReturn_t rc = enter_system(__func__);
    if (rc != NVML_SUCCESS)
        return rc;
    snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    FILE *in = fopen(path, "re");
    if (in == NULL)
        return leave(NVML_ERROR_NOT_FOUND);
    size_t n = fread(command, 1, sizeof command - 1, in);
    fclose(in);
    command[n] = '\0';
    snprintf(name, length, "%s", command);
    return leave(NVML_SUCCESS);
}
