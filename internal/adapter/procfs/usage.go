// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/sample"
)

// PodUsage reads the CPU time and the working set of every pod on the node
// from its cgroup, sorted by pod UID. A pod that ends meanwhile is left out.
// Pods that could be read come back beside the error for those that could not.
func (r *Reader) PodUsage() ([]sample.PodUsage, error) {
	r.usageMu.Lock()
	defer r.usageMu.Unlock()
	tree, err := findLayout(r.opts.Cgroup)
	if err != nil {
		return nil, fmt.Errorf("read pod usage: %w", err)
	}
	pods, err := r.pods.find(tree.cpu, r.opts.Now())
	if err != nil {
		return nil, fmt.Errorf("read pod usage: %w", err)
	}
	var problems []error
	out := make([]sample.PodUsage, 0, len(pods))
	buf := make([]byte, 4096)
	for _, p := range pods {
		usage, err := podUsage(tree, p, buf)
		switch {
		case err == nil:
			out = append(out, usage)
		case !vanished(err):
			problems = append(problems, err)
		}
	}
	slices.SortFunc(out, func(a, b sample.PodUsage) int { return cmp.Compare(a.PodUID, b.PodUID) })
	if len(problems) > 0 {
		return out, fmt.Errorf("read pod usage: %d of %d pods: %w", len(problems), len(pods), errors.Join(problems[:min(3, len(problems))]...))
	}
	return out, nil
}

func podUsage(tree layout, p podCgroup, buf []byte) (sample.PodUsage, error) {
	cpu, err := cpuNanos(tree, p.rel, buf)
	if err != nil {
		return sample.PodUsage{}, err
	}
	memory, err := workingSet(tree, p.rel, buf)
	if err != nil {
		return sample.PodUsage{}, err
	}
	return sample.PodUsage{PodUID: p.uid, CPUNanos: cpu, MemoryBytes: memory}, nil
}

func cpuNanos(tree layout, rel string, buf []byte) (uint64, error) {
	if !tree.unified {
		return readNumber(tree.cpu+rel+"/cpuacct.usage", buf)
	}
	micros, err := readKeyed(tree.cpu+rel+"/cpu.stat", "usage_usec", buf)
	return micros * 1000, err
}

// workingSet is what cannot be given back at once: memory in use less file
// cache that was not touched lately. It is the kubelet's own definition.
func workingSet(tree layout, rel string, buf []byte) (uint64, error) {
	dir, current, inactive := tree.memory+rel, "/memory.current", "inactive_file"
	if !tree.unified {
		current, inactive = "/memory.usage_in_bytes", "total_inactive_file"
	}
	used, err := readNumber(dir+current, buf)
	if err != nil {
		return 0, err
	}
	cache, err := readKeyed(dir+"/memory.stat", inactive, buf)
	if err != nil {
		return 0, err
	}
	return used - min(used, cache), nil
}

func readNumber(path string, buf []byte) (uint64, error) {
	text, err := readInto(path, buf, maxFile)
	if err != nil {
		return 0, err
	}
	n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: not a number: %.40q", path, text)
	}
	return n, nil
}

func readKeyed(path, key string, buf []byte) (uint64, error) {
	text, err := readInto(path, buf, maxFile)
	if err != nil {
		return 0, err
	}
	n, ok := keyed(text, key)
	if !ok {
		return 0, fmt.Errorf("%s: no number for %s", path, key)
	}
	return n, nil
}
