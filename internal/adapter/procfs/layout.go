// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"path/filepath"
)

// layout is where the cgroup controllers of this host are: in one tree (v2),
// or in one tree each (v1, and hybrid hosts, which keep them in v1).
type layout struct {
	unified              bool
	cpu, memory, devices string // directories; devices is empty in v2
}

// findLayout looks at what is mounted. v1 mounts cpu and cpuacct together or
// apart, under either name.
func findLayout(root string) (layout, error) {
	if exists(filepath.Join(root, "cgroup.controllers")) {
		return layout{unified: true, cpu: root, memory: root}, nil
	}
	l := layout{
		memory:  filepath.Join(root, "memory"),
		devices: filepath.Join(root, "devices"),
	}
	for _, name := range []string{"cpuacct", "cpu,cpuacct", "cpuacct,cpu"} {
		if exists(filepath.Join(root, name)) {
			l.cpu = filepath.Join(root, name)
			break
		}
	}
	if l.cpu == "" || !exists(l.memory) {
		return layout{}, fmt.Errorf("%s: neither cgroup v2 (cgroup.controllers) nor v1 (cpuacct, memory) is mounted there", root)
	}
	return l, nil
}

// containers is the tree in which to look for containers and their processes.
func (l layout) containers() string {
	if l.devices != "" && exists(l.devices) {
		return l.devices
	}
	return l.cpu
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
