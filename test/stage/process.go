// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"time"
)

// holderVar marks a process that the stage started as a holder.
const holderVar = "GPUTALLY_STAGE_HOLDER"

// called: HolderMain was. A program that does not call it would do all that it does
// once more in each holder.
var called atomic.Bool

// HolderMain turns this program into a holder, where the stage started it as
// one: a process that does nothing until the stage ends. Call it first in main
// or TestMain.
func HolderMain() {
	called.Store(true)
	name := os.Getenv(holderVar)
	if name == "" {
		return
	}
	// The name of the process, as ps and /proc/PID/comm have it.
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0)
	fmt.Println("ready")
	// The stage holds the other end: it closes when the stage ends, however
	// that comes about.
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// Process is a living process of the machine that stands on the stage.
type Process struct {
	PID  int
	Comm string

	stage *Stage
	cmd   *exec.Cmd
	stdin io.Closer
	done  chan struct{}
}

// startProcess starts a holder and waits until it has its name.
func startProcess(comm string) (*Process, error) {
	if !called.Load() {
		return nil, fmt.Errorf("start holder %s: main or TestMain does not call stage.HolderMain first", comm)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start holder %s: %w", comm, err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), holderVar+"="+comm)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start holder %s: %w", comm, err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start holder %s: %w", comm, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start holder %s: %w", comm, err)
	}
	p := &Process{PID: cmd.Process.Pid, Comm: comm, cmd: cmd, stdin: stdin, done: make(chan struct{})}
	_, err = io.ReadFull(stdout, make([]byte, len("ready")))
	go func() {
		_ = cmd.Wait()
		close(p.done)
	}()
	if err != nil {
		p.end()
		return nil, fmt.Errorf("start holder %s: it ended at once", comm)
	}
	return p, nil
}

// end lets the process leave, and makes it, if it does not.
func (p *Process) end() {
	if p.cmd == nil {
		return // a figure
	}
	_ = p.stdin.Close()
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		_ = p.cmd.Process.Kill()
	}
}
