// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// Volcano's annotations and the resources that go with them.
const (
	AnnotationVolcanoVGPU  = "volcano.sh/vgpu-ids-new"
	AnnotationVolcanoIndex = "volcano.sh/gpu-index"

	volcanoVGPUNumber = "volcano.sh/vgpu-number"
	volcanoVGPUMemory = "volcano.sh/vgpu-memory"
	volcanoGPUMemory  = "volcano.sh/gpu-memory"
	volcanoGPUNumber  = "volcano.sh/gpu-number"
)

// VolcanoShares reads volcano.sh/vgpu-ids-new, or volcano.sh/gpu-index of the
// GPU sharing that release 1.9 deprecated.
func VolcanoShares(p Pod) ([]Share, error) {
	if value := p.Annotations[AnnotationVolcanoVGPU]; value != "" {
		return volcanoVGPUs(p, value)
	}
	if value := p.Annotations[AnnotationVolcanoIndex]; value != "" {
		return volcanoIndexes(p, value)
	}
	return nil, nil
}

// volcanoVGPUs reads HAMi's encoding, in which Volcano has an entry only for
// the app containers that ask for vGPUs (pkg/scheduler/api/devices/nvidia/vgpu).
func volcanoVGPUs(p Pod, value string) ([]Share, error) {
	entries, err := parseVGPUs(value)
	if err != nil {
		return nil, badAnnotation(AnnotationVolcanoVGPU, value, err)
	}
	positions := p.requesting(volcanoVGPUNumber, volcanoVGPUMemory)
	var shares []Share
	for i, devices := range entries {
		position := -1
		if i < len(positions) {
			position = positions[i]
		}
		for _, d := range devices {
			shares = append(shares, d.share(SourceVolcano).at(p, position))
		}
	}
	return shares, nil
}

// volcanoIndexes reads "0" or "0,2": one card that containers share by
// volcano.sh/gpu-memory (MiB), or whole cards by volcano.sh/gpu-number.
func volcanoIndexes(p Pod, value string) ([]Share, error) {
	var indexes []int
	for text := range strings.SplitSeq(value, ",") {
		n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
		if err != nil {
			return nil, badAnnotation(AnnotationVolcanoIndex, value, fmt.Errorf("%q: want a GPU index", text))
		}
		indexes = append(indexes, int(n))
	}
	sharing := p.requesting(volcanoGPUMemory)
	if len(indexes) == 1 && len(sharing) > 0 {
		return volcanoMemory(p, value, indexes[0], sharing)
	}
	whole := p.requesting(volcanoGPUNumber)
	var shares []Share
	for _, index := range indexes {
		s := Share{Source: SourceVolcano, Container: -1, Index: &index}
		if len(whole) > 0 {
			s.Fraction = gpu.One
		}
		if len(whole) == 1 {
			s = s.at(p, whole[0])
		}
		shares = append(shares, s)
	}
	return shares, nil
}

// volcanoMemory gives each container of sharing its own limit of one card.
func volcanoMemory(p Pod, value string, index int, sharing []int) ([]Share, error) {
	var shares []Share
	for _, position := range sharing {
		bytes, err := mebibytes(strconv.FormatInt(p.appContainers()[position].Limits[volcanoGPUMemory], 10))
		if err != nil {
			return nil, badAnnotation(AnnotationVolcanoIndex, value, fmt.Errorf("limit %s: %w", volcanoGPUMemory, err))
		}
		shares = append(shares, Share{Source: SourceVolcano, Index: &index, Bytes: &bytes}.at(p, position))
	}
	return shares, nil
}
