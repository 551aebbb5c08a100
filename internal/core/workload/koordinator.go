// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
)

// AnnotationKoordinator holds the devices Koordinator gave the pod, by kind.
const AnnotationKoordinator = "scheduling.koordinator.sh/device-allocated"

// koordinatorDevice is one device of the annotation (apis/extension).
type koordinatorDevice struct {
	Minor     *int                       `json:"minor"`
	Resources map[string]json.RawMessage `json:"resources"`
}

// KoordinatorShares reads scheduling.koordinator.sh/device-allocated:
//
//	{"gpu":[{"minor":0,"resources":{"koordinator.sh/gpu-core":"50","koordinator.sh/gpu-memory":"8Gi",…}}]}
//
// It names devices by minor number and gives them to the pod, not to one of
// its containers. Other kinds of device (rdma, fpga) are not read.
func KoordinatorShares(p Pod) ([]Share, error) {
	value := p.Annotations[AnnotationKoordinator]
	if value == "" {
		return nil, nil
	}
	var devices struct {
		GPU []koordinatorDevice `json:"gpu"`
	}
	if err := json.Unmarshal([]byte(value), &devices); err != nil {
		return nil, badAnnotation(AnnotationKoordinator, value, err)
	}
	position := p.soleContainer("koordinator.sh/")
	var shares []Share
	for _, d := range devices.GPU {
		s, err := d.share()
		if err != nil {
			return nil, badAnnotation(AnnotationKoordinator, value, err)
		}
		shares = append(shares, s.at(p, position))
	}
	return shares, nil
}

// share takes the memory in bytes before its percentage, which is rounded from
// it.
func (d koordinatorDevice) share() (Share, error) {
	if d.Minor == nil || *d.Minor < 0 {
		return Share{}, fmt.Errorf("gpu minor: %w", errNoDevice)
	}
	s := Share{Source: SourceKoordinator, Minor: d.Minor}
	for _, name := range slices.Sorted(maps.Keys(d.Resources)) {
		if err := s.koordinatorResource(name, strings.Trim(string(d.Resources[name]), `"`)); err != nil {
			return Share{}, fmt.Errorf("resource %s: %w", name, err)
		}
	}
	if s.Bytes != nil {
		s.Fraction = gpu.Ratio{}
	}
	return s, nil
}

// koordinatorResource reads one amount. The resources had the prefix
// kubernetes.io/ before they had koordinator.sh/.
func (s *Share) koordinatorResource(name, value string) (err error) {
	var n uint64
	_, short, _ := strings.Cut(name, "/")
	switch short {
	case "gpu-memory":
		n, err = parseQuantity(value)
		s.Bytes = &n
	case "gpu-memory-ratio":
		if n, err = parseQuantity(value); err == nil {
			s.Fraction, err = percent(n)
		}
	case "gpu-core":
		n, err = parseQuantity(value)
		cores := int64(min(n, 1<<31))
		s.Cores = &cores
	}
	return err
}

func percent(n uint64) (gpu.Ratio, error) {
	if n > 100 {
		return gpu.Ratio{}, fmt.Errorf("%d: want at most 100 percent", n)
	}
	return gpu.Ratio{Num: n, Den: 100}, nil
}

// soleContainer is the position of the one app container with limits of a
// vendor's resources, or of a pod's only app container; -1 where several are.
func (p Pod) soleContainer(prefix string) int {
	apps := p.appContainers()
	if len(apps) == 1 {
		return 0
	}
	found := -1
	for i, c := range apps {
		for name := range c.Limits {
			if strings.HasPrefix(name, prefix) && found != i {
				if found >= 0 {
					return -1
				}
				found = i
			}
		}
	}
	return found
}
