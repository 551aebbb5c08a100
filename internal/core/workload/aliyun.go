// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Aliyun gpushare's annotations: the open source extender's, and the form that
// Alibaba's managed clusters write.
const (
	AnnotationAliyunIndex      = "ALIYUN_COM_GPU_MEM_IDX"
	AnnotationAliyunPodMemory  = "ALIYUN_COM_GPU_MEM_POD"
	AnnotationAliyunAllocation = "scheduler.framework.gpushare.allocation"
)

// gibibyte is the unit in which gpushare counts aliyun.com/gpu-mem.
const gibibyte = 1 << 30

// AliyunShares reads gpushare's annotations: the index of a card and the pod's
// memory on it in GiB, or {"<container>":{"<index>":<GiB>}}. An index of -1
// means that no card was given.
func AliyunShares(p Pod) ([]Share, error) {
	if value := p.Annotations[AnnotationAliyunAllocation]; value != "" {
		return aliyunAllocation(p, value)
	}
	value := strings.TrimSpace(p.Annotations[AnnotationAliyunIndex])
	if value == "" || value == "-1" {
		return nil, nil
	}
	index, err := deviceIndex(value)
	if err != nil {
		return nil, badAnnotation(AnnotationAliyunIndex, value, err)
	}
	s := Share{Source: SourceAliyun, Index: &index}
	if memory := p.Annotations[AnnotationAliyunPodMemory]; memory != "" {
		if s.Bytes, err = gibibytes(memory); err != nil {
			return nil, badAnnotation(AnnotationAliyunPodMemory, memory, err)
		}
	}
	return []Share{s.at(p, p.soleContainer("aliyun.com/"))}, nil
}

func aliyunAllocation(p Pod, value string) ([]Share, error) {
	var given map[string]map[string]json.Number
	if err := json.Unmarshal([]byte(value), &given); err != nil {
		return nil, badAnnotation(AnnotationAliyunAllocation, value, err)
	}
	var shares []Share
	for container, devices := range given {
		position, err := deviceIndex(container)
		if err != nil {
			return nil, badAnnotation(AnnotationAliyunAllocation, value, fmt.Errorf("container: %w", err))
		}
		for device, amount := range devices {
			index, err := deviceIndex(device)
			if err != nil {
				return nil, badAnnotation(AnnotationAliyunAllocation, value, fmt.Errorf("device: %w", err))
			}
			bytes, err := gibibytes(amount.String())
			if err != nil {
				return nil, badAnnotation(AnnotationAliyunAllocation, value, err)
			}
			shares = append(shares, Share{Source: SourceAliyun, Index: &index, Bytes: bytes}.at(p, position))
		}
	}
	slices.SortFunc(shares, byPlace)
	return shares, nil
}

// byPlace orders shares by container and index, so that no result depends on
// map order.
func byPlace(a, b Share) int {
	if a.Container != b.Container {
		return a.Container - b.Container
	}
	if *a.Index != *b.Index {
		return *a.Index - *b.Index
	}
	return int(int64(*a.Bytes>>30) - int64(*b.Bytes>>30))
}

func deviceIndex(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q: want a number from 0", text)
	}
	return int(n), nil
}

func gibibytes(text string) (*uint64, error) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 32)
	if err != nil || n > maxMiB>>10 {
		return nil, fmt.Errorf("%q: want a number of GiB", text)
	}
	bytes := n * gibibyte
	return &bytes, nil
}
