// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/gpu"
)

// words says what a return code means. The library's own nvmlErrorString is
// not used: it is one more call into a library that may be the problem.
func words(ret binding.Return) string {
	if text, ok := returnWords[ret]; ok {
		return text
	}
	return fmt.Sprintf("error code %d", int32(ret))
}

var returnWords = map[binding.Return]string{
	binding.SUCCESS:                         "success",
	binding.ERROR_UNINITIALIZED:             "the library is not initialized",
	binding.ERROR_INVALID_ARGUMENT:          "invalid argument",
	binding.ERROR_NOT_SUPPORTED:             "not supported on this device",
	binding.ERROR_NO_PERMISSION:             "no permission",
	binding.ERROR_NOT_FOUND:                 "not found",
	binding.ERROR_INSUFFICIENT_SIZE:         "the answer grew while it was read",
	binding.ERROR_INSUFFICIENT_POWER:        "external power cables are not attached",
	binding.ERROR_DRIVER_NOT_LOADED:         "the NVIDIA driver is not loaded",
	binding.ERROR_TIMEOUT:                   "timed out in the driver",
	binding.ERROR_IRQ_ISSUE:                 "the kernel found an interrupt problem with the GPU",
	binding.ERROR_LIBRARY_NOT_FOUND:         "the library could not be loaded",
	binding.ERROR_FUNCTION_NOT_FOUND:        "the installed driver does not have this function",
	binding.ERROR_CORRUPTED_INFOROM:         "the GPU's infoROM is corrupted",
	binding.ERROR_GPU_IS_LOST:               "the GPU is lost: it has fallen off the bus or is otherwise inaccessible",
	binding.ERROR_RESET_REQUIRED:            "the GPU requires a reset before it can be used again",
	binding.ERROR_OPERATING_SYSTEM:          "the GPU is blocked by the operating system (device cgroup rules)",
	binding.ERROR_LIB_RM_VERSION_MISMATCH:   "driver reloaded: the loaded library and the kernel driver have different versions",
	binding.ERROR_IN_USE:                    "the GPU is in use",
	binding.ERROR_MEMORY:                    "not enough memory",
	binding.ERROR_NO_DATA:                   "no data",
	binding.ERROR_INSUFFICIENT_RESOURCES:    "not enough resources in the driver",
	binding.ERROR_ARGUMENT_VERSION_MISMATCH: "the installed driver does not know this version of the call",
	binding.ERROR_NOT_READY:                 "the driver is not ready",
	binding.ERROR_GPU_NOT_FOUND:             "no GPU was found",
	binding.ERROR_INVALID_STATE:             "the GPU is in an invalid state for this call",
	binding.ERROR_UNKNOWN:                   "unknown error in the driver",
}

// absent reports whether a return code says that there is no such reading on
// this device, which is an answer and not a failure.
func absent(ret binding.Return) bool {
	return ret == binding.ERROR_NOT_SUPPORTED || ret == binding.ERROR_FUNCTION_NOT_FOUND
}

// stateOf is what a return code says of the device that was asked.
func stateOf(ret binding.Return) gpu.State {
	switch ret {
	case binding.ERROR_GPU_IS_LOST, binding.ERROR_RESET_REQUIRED, binding.ERROR_GPU_NOT_FOUND:
		return gpu.StateLost
	}
	return gpu.StateUnreadable
}

// endsLibrary reports whether a return code says that the library as it is
// loaded is of no more use to anybody: it must be closed and loaded again.
func endsLibrary(ret binding.Return) bool {
	switch ret {
	case binding.ERROR_LIB_RM_VERSION_MISMATCH, binding.ERROR_UNINITIALIZED, binding.ERROR_DRIVER_NOT_LOADED:
		return true
	}
	return false
}

// endsReading reports whether after this return code no further question to
// the device makes sense.
func endsReading(ret binding.Return) bool {
	return endsLibrary(ret) || stateOf(ret) == gpu.StateLost
}
