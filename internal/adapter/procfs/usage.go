// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

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
	buf := make([]byte, 8192)
	files := make(map[string]*podFiles, len(pods))
	for _, p := range pods {
		f := r.files[p.rel]
		if f == nil {
			f = newPodFiles(tree, p.rel)
		}
		files[p.rel] = f
		usage, err := f.read(p.uid, &r.holder, buf)
		switch {
		case err == nil:
			out = append(out, usage)
		case !vanished(err):
			problems = append(problems, err)
		}
	}
	r.keep(files)
	slices.SortFunc(out, func(a, b sample.PodUsage) int { return cmp.Compare(a.PodUID, b.PodUID) })
	if len(problems) > 0 {
		return out, fmt.Errorf("read pod usage: %d of %d pods: %w", len(problems), len(pods), errors.Join(problems[:min(3, len(problems))]...))
	}
	return out, nil
}

// keep makes files the ones that are kept open.
func (r *Reader) keep(files map[string]*podFiles) {
	for rel, f := range r.files {
		if files[rel] != f {
			f.release(&r.holder)
		}
	}
	r.files = files
}

// podFiles are the accounting files of a pod's cgroup.
type podFiles struct {
	unified           bool
	cpu, used, memory held
}

func newPodFiles(tree layout, rel string) *podFiles {
	f := &podFiles{unified: tree.unified}
	f.cpu.path, f.used.path = tree.cpu+rel+"/cpu.stat", tree.memory+rel+"/memory.current"
	if !tree.unified {
		f.cpu.path, f.used.path = tree.cpu+rel+"/cpuacct.usage", tree.memory+rel+"/memory.usage_in_bytes"
	}
	f.memory.path = tree.memory + rel + "/memory.stat"
	return f
}

func (f *podFiles) release(h *holder) {
	h.release(&f.cpu)
	h.release(&f.used)
	h.release(&f.memory)
}

func (f *podFiles) read(uid string, h *holder, buf []byte) (sample.PodUsage, error) {
	cpu, err := f.cpuNanos(h, buf)
	if err != nil {
		return sample.PodUsage{}, err
	}
	memory, err := f.workingSet(h, buf)
	if err != nil {
		return sample.PodUsage{}, err
	}
	return sample.PodUsage{PodUID: uid, CPUNanos: cpu, MemoryBytes: memory}, nil
}

func (f *podFiles) cpuNanos(h *holder, buf []byte) (uint64, error) {
	if !f.unified {
		return h.number(&f.cpu, "", buf)
	}
	micros, err := h.number(&f.cpu, "usage_usec", buf)
	return micros * 1000, err
}

// workingSet is what cannot be given back at once: memory in use less file
// cache that was not touched lately. It is the kubelet's own definition.
func (f *podFiles) workingSet(h *holder, buf []byte) (uint64, error) {
	inactive := "inactive_file"
	if !f.unified {
		inactive = "total_inactive_file"
	}
	used, err := h.number(&f.used, "", buf)
	if err != nil {
		return 0, err
	}
	cache, err := h.number(&f.memory, inactive, buf)
	if err != nil {
		return 0, err
	}
	return used - min(used, cache), nil
}

// number reads the number that follows a key at the start of a line of a file,
// or without a key the only one that is in it.
func (h *holder) number(f *held, key string, buf []byte) (uint64, error) {
	text, err := h.read(f, buf)
	if err != nil {
		return 0, err
	}
	if key == "" {
		n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: not a number: %.40q", f.path, text)
		}
		return n, nil
	}
	n, ok := keyed(text, key)
	if !ok {
		return 0, fmt.Errorf("%s: no number for %s", f.path, key)
	}
	return n, nil
}
