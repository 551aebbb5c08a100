// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// maxMiB bounds an amount of memory, so that its bytes fit (2^53 bytes).
const maxMiB = 1 << 33

// vgpu is one device in HAMi's encoding.
type vgpu struct {
	uuid  gpu.UUID
	bytes uint64
	cores int64
}

// parseVGPUs reads HAMi's encoding, which Volcano shares: per device
// "uuid,type,memory MiB,cores %", devices joined by ":", containers by ";".
// HAMi ends each device and each container with its separator, Volcano only
// puts ";" between. A container without devices is empty and keeps its place.
func parseVGPUs(value string) ([][]vgpu, error) {
	var containers [][]vgpu
	for text := range strings.SplitSeq(strings.TrimSuffix(value, ";"), ";") {
		var devices []vgpu
		for entry := range strings.SplitSeq(text, ":") {
			if strings.TrimSpace(entry) == "" {
				continue
			}
			d, err := parseVGPU(entry)
			if err != nil {
				return nil, err
			}
			devices = append(devices, d)
		}
		containers = append(containers, devices)
	}
	return containers, nil
}

func parseVGPU(entry string) (vgpu, error) {
	fields := strings.Split(entry, ",")
	if len(fields) < 4 {
		return vgpu{}, fmt.Errorf("device %q: want uuid,type,memory,cores", entry)
	}
	// Older releases put a MIG template and slot behind the UUID: GPU-…[1-0].
	uuid, _, _ := strings.Cut(strings.TrimSpace(fields[0]), "[")
	if uuid == "" {
		return vgpu{}, fmt.Errorf("device %q: no UUID", entry)
	}
	bytes, err := mebibytes(fields[2])
	if err != nil {
		return vgpu{}, fmt.Errorf("device %q: memory: %w", entry, err)
	}
	cores, err := strconv.ParseUint(strings.TrimSpace(fields[3]), 10, 31)
	if err != nil {
		return vgpu{}, fmt.Errorf("device %q: cores %q: want a percentage", entry, fields[3])
	}
	return vgpu{uuid: gpu.UUID(uuid), bytes: bytes, cores: int64(cores)}, nil
}

// mebibytes reads a number of MiB as bytes.
func mebibytes(text string) (uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q: want a number of MiB", text)
	}
	if n > maxMiB {
		return 0, fmt.Errorf("%q: more MiB than any device has", text)
	}
	return n * gpu.MiB, nil
}

// share is the device as a share of the source.
func (d vgpu) share(source string) Share {
	s := Share{Source: source, Container: -1, UUID: d.uuid, Bytes: &d.bytes}
	if d.cores > 0 {
		s.Cores = &d.cores
	}
	return s
}

var errNoDevice = errors.New("names no device")
