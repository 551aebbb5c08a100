// SPDX-License-Identifier: Apache-2.0

package nvml

// symbol is a function of the library that this package calls. The Go binding
// ends the whole process when it calls a function that the installed driver
// does not have, so each is looked up when the library is loaded and none is
// called without that.
type symbol uint8

// The functions, in no particular order. symNone is "no call".
const (
	symNone symbol = iota
	symInit
	symShutdown
	symDriverVersion
	symNVMLVersion
	symCUDAVersion
	symCount
	symHandleByIndex
	symUUID
	symName
	symMinor
	symPCI
	symSerial
	symArchitecture
	symVirtualization
	symComputeMode
	symMemory
	symMemoryV2
	symComputeProcesses
	symGraphicsProcesses
	symMPSProcesses
	symUtilization
	symProcessUtilization
	symMigMode
	symMaxMig
	symMigHandle
	symGpuInstanceID
	symComputeInstanceID
	symAttributes
	symGpuInstanceByID
	symGpuInstanceInfo
	symGpuInstances
	symProfileInfo
	symProfileInfoV
	symPlacements
	symPowerUsage
	symPowerLimit
	symEnergy
	symTemperature
	symTemperatureV
	symClock
	symClocksEventReasons
	symClocksThrottleReasons
	symPCIeThroughput
	symGpmSupport
	symGpmAlloc
	symGpmFree
	symGpmSample
	symGpmMigSample
	symGpmMetrics
	symEventSetCreate
	symEventSetFree
	symEventSetWait
	symEventTypes
	symRegisterEvents
	symAccountingMode
	symAccountingPids
	symAccountingStats
	numSymbols
)

// symbolNames lists, per function, the names under which the binding calls it,
// the newest first. One of them is enough.
var symbolNames = [numSymbols][]string{
	symInit:                  {"nvmlInit_v2", "nvmlInit"},
	symShutdown:              {"nvmlShutdown"},
	symDriverVersion:         {"nvmlSystemGetDriverVersion"},
	symNVMLVersion:           {"nvmlSystemGetNVMLVersion"},
	symCUDAVersion:           {"nvmlSystemGetCudaDriverVersion_v2"},
	symCount:                 {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"},
	symHandleByIndex:         {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"},
	symUUID:                  {"nvmlDeviceGetUUID"},
	symName:                  {"nvmlDeviceGetName"},
	symMinor:                 {"nvmlDeviceGetMinorNumber"},
	symPCI:                   {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"},
	symSerial:                {"nvmlDeviceGetSerial"},
	symArchitecture:          {"nvmlDeviceGetArchitecture"},
	symVirtualization:        {"nvmlDeviceGetVirtualizationMode"},
	symComputeMode:           {"nvmlDeviceGetComputeMode"},
	symMemory:                {"nvmlDeviceGetMemoryInfo"},
	symMemoryV2:              {"nvmlDeviceGetMemoryInfo_v2"},
	symComputeProcesses:      {"nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses"},
	symGraphicsProcesses:     {"nvmlDeviceGetGraphicsRunningProcesses_v3", "nvmlDeviceGetGraphicsRunningProcesses_v2", "nvmlDeviceGetGraphicsRunningProcesses"},
	symMPSProcesses:          {"nvmlDeviceGetMPSComputeRunningProcesses_v3", "nvmlDeviceGetMPSComputeRunningProcesses_v2", "nvmlDeviceGetMPSComputeRunningProcesses"},
	symUtilization:           {"nvmlDeviceGetUtilizationRates"},
	symProcessUtilization:    {"nvmlDeviceGetProcessUtilization"},
	symMigMode:               {"nvmlDeviceGetMigMode"},
	symMaxMig:                {"nvmlDeviceGetMaxMigDeviceCount"},
	symMigHandle:             {"nvmlDeviceGetMigDeviceHandleByIndex"},
	symGpuInstanceID:         {"nvmlDeviceGetGpuInstanceId"},
	symComputeInstanceID:     {"nvmlDeviceGetComputeInstanceId"},
	symAttributes:            {"nvmlDeviceGetAttributes_v2", "nvmlDeviceGetAttributes"},
	symGpuInstanceByID:       {"nvmlDeviceGetGpuInstanceById"},
	symGpuInstanceInfo:       {"nvmlGpuInstanceGetInfo"},
	symGpuInstances:          {"nvmlDeviceGetGpuInstances"},
	symProfileInfo:           {"nvmlDeviceGetGpuInstanceProfileInfo"},
	symProfileInfoV:          {"nvmlDeviceGetGpuInstanceProfileInfoV"},
	symPlacements:            {"nvmlDeviceGetGpuInstancePossiblePlacements_v2", "nvmlDeviceGetGpuInstancePossiblePlacements"},
	symPowerUsage:            {"nvmlDeviceGetPowerUsage"},
	symPowerLimit:            {"nvmlDeviceGetEnforcedPowerLimit"},
	symEnergy:                {"nvmlDeviceGetTotalEnergyConsumption"},
	symTemperature:           {"nvmlDeviceGetTemperature"},
	symTemperatureV:          {"nvmlDeviceGetTemperatureV"},
	symClock:                 {"nvmlDeviceGetClockInfo"},
	symClocksEventReasons:    {"nvmlDeviceGetCurrentClocksEventReasons"},
	symClocksThrottleReasons: {"nvmlDeviceGetCurrentClocksThrottleReasons"},
	symPCIeThroughput:        {"nvmlDeviceGetPcieThroughput"},
	symGpmSupport:            {"nvmlGpmQueryDeviceSupport"},
	symGpmAlloc:              {"nvmlGpmSampleAlloc"},
	symGpmFree:               {"nvmlGpmSampleFree"},
	symGpmSample:             {"nvmlGpmSampleGet"},
	symGpmMigSample:          {"nvmlGpmMigSampleGet"},
	symGpmMetrics:            {"nvmlGpmMetricsGet"},
	symEventSetCreate:        {"nvmlEventSetCreate"},
	symEventSetFree:          {"nvmlEventSetFree"},
	symEventSetWait:          {"nvmlEventSetWait_v2", "nvmlEventSetWait"},
	symEventTypes:            {"nvmlDeviceGetSupportedEventTypes"},
	symRegisterEvents:        {"nvmlDeviceRegisterEvents"},
	symAccountingMode:        {"nvmlDeviceGetAccountingMode"},
	symAccountingPids:        {"nvmlDeviceGetAccountingPids"},
	symAccountingStats:       {"nvmlDeviceGetAccountingStats"},
}

// symbolTable holds, per function, the name found in the loaded library; an
// empty name means the library does not have it.
type symbolTable [numSymbols]string

func lookUp(find func(string) error) *symbolTable {
	t := new(symbolTable)
	for s, names := range symbolNames {
		for _, name := range names {
			if find(name) == nil {
				t[s] = name
				break
			}
		}
	}
	return t
}

func (t *symbolTable) has(s symbol) bool { return t != nil && t[s] != "" }

// name is the function's name for messages, also when it is missing.
func (t *symbolTable) name(s symbol) string {
	switch {
	case t.has(s):
		return t[s]
	case len(symbolNames[s]) > 0:
		return symbolNames[s][0]
	}
	return "no call"
}
