// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// cgroupRoot is a cgroup v2 tree with the stage's pods. Only what an agent
// reads is there: CPU time, memory and the list of processes.
type cgroupRoot string

func (r cgroupRoot) make() error {
	return writeAll(map[string]string{
		filepath.Join(string(r), "cgroup.controllers"):                              "cpu io memory pids\n",
		filepath.Join(string(r), "kubepods.slice", "cgroup.controllers"):            "cpu memory pids\n",
		filepath.Join(string(r), "system.slice", "cgroup.controllers"):              "cpu memory pids\n",
		filepath.Join(string(r), "kubepods.slice", burstable, "cgroup.controllers"): "cpu memory pids\n",
	})
}

const burstable = "kubepods-burstable.slice"

// podCgroup is the path that the kubelet gives a burstable pod under systemd.
func podCgroup(uid string) string {
	return "/kubepods.slice/" + burstable + "/kubepods-burstable-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
}

func containerCgroup(uid, container string) string {
	return podCgroup(uid) + "/cri-containerd-" + container + ".scope"
}

// setUsage writes what a pod has used so far, in microseconds and bytes.
func (r cgroupRoot) setUsage(uid string, cpuMicros, memory uint64) error {
	dir := filepath.Join(string(r), podCgroup(uid))
	return writeAll(map[string]string{
		filepath.Join(dir, "cpu.stat"):       fmt.Sprintf("usage_usec %d\nuser_usec %d\nsystem_usec 0\n", cpuMicros, cpuMicros),
		filepath.Join(dir, "memory.current"): fmt.Sprintf("%d\n", memory),
		filepath.Join(dir, "memory.stat"):    "anon 0\nfile 0\ninactive_file 0\n",
	})
}

func (r cgroupRoot) setProcesses(cgroup string, pids []int) error {
	var text strings.Builder
	for _, pid := range pids {
		fmt.Fprintln(&text, pid)
	}
	return writeAll(map[string]string{filepath.Join(string(r), cgroup, "cgroup.procs"): text.String()})
}

func (r cgroupRoot) remove(uid string) error {
	return os.RemoveAll(filepath.Join(string(r), podCgroup(uid)))
}
