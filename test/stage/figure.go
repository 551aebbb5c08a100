// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Figure puts a process on the stage that lives in the staged /proc only, under
// an id of the caller's: for crowds that no test machine could run. Its stat
// and status lead to the real ones of this program, so that reading them costs
// what it costs on a node; take a figure out of the mock's state before it is
// removed, since who holds such a file open sees it live on. The mock library lists it only with NVML.Option("reap=0").
func (p *Pod) Figure(pid int) (*Process, error) {
	cgroup := containerCgroup(p.UID, p.ContainerID)
	proc := &Process{PID: pid, stage: p.stage}
	if err := p.stage.proc.addFigure(pid, cgroup, p.Spec.Env); err != nil {
		return nil, fmt.Errorf("pod %s/%s: %w", p.Spec.Namespace, p.Spec.Name, err)
	}
	p.stage.mu.Lock()
	p.stage.processes[pid] = proc
	p.stage.mu.Unlock()
	p.processes = append(p.processes, proc)
	return proc, p.stage.cgroup.setProcesses(cgroup, p.pids())
}

func (r procRoot) addFigure(pid int, cgroup string, env map[string]string) error {
	dir := filepath.Join(string(r), strconv.Itoa(pid))
	err := r.describe(pid, cgroup, env)
	for _, name := range []string{"status", "stat"} {
		err = errors.Join(err, os.Symlink(fmt.Sprintf("/proc/%d/%s", os.Getpid(), name), filepath.Join(dir, name)))
	}
	if err != nil {
		return fmt.Errorf("stage figure %d: %w", pid, err)
	}
	return nil
}
