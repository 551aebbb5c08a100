// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// Agent is a running gputally-agent that looks at the stage.
type Agent struct {
	// URL is where it serves, Spool its folder of usage records.
	URL, Spool string
	PID        int

	log  string
	cmd  *exec.Cmd
	done chan struct{}
	err  error
}

// Run is how to run an agent.
type Run struct {
	// Program is gputally-agent, Library the mock NVML library.
	Program, Library string
	// Spool is its folder of usage records; one in the stage's folder if empty.
	Spool string
	// Flags come behind those that point it at the stage.
	Flags []string
	// Wrap, if set, is a command line that runs the agent's.
	Wrap []string
}

// StartAgent runs an agent with its flags pointing at the stage. Its log is
// added to the stage's agent.log, so that one file tells of restarts too.
func (s *Stage) StartAgent(r Run) (*Agent, error) {
	listen, err := freeAddress()
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	a := &Agent{URL: "http://" + listen, Spool: r.Spool, log: filepath.Join(s.Dir, "agent.log"), done: make(chan struct{})}
	if a.Spool == "" {
		a.Spool = filepath.Join(s.Dir, "spool")
	}
	log, err := os.OpenFile(a.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	defer log.Close() // the child has its own
	line := append(append(r.Wrap[:len(r.Wrap):len(r.Wrap)], r.Program,
		"--node-name", s.Node, "--cluster", "stage", "--listen", listen, "--nvml-library", r.Library,
		"--proc", s.ProcRoot(), "--cgroup-root", s.CgroupRoot(), "--pod-resources-socket", s.Kubelet.Socket,
		"--kubeconfig", s.Kubeconfig(), "--spool-dir", a.Spool), r.Flags...)
	a.cmd = exec.Command(line[0], line[1:]...)
	a.cmd.Env = append(os.Environ(), s.NVML.Env())
	a.cmd.Stdout, a.cmd.Stderr = log, log
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	a.PID = a.cmd.Process.Pid
	go func() {
		a.err = a.cmd.Wait()
		close(a.done)
	}()
	return a, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find a free port on 127.0.0.1: %w", err)
	}
	return l.Addr().String(), l.Close()
}

// Done is closed when the agent has ended.
func (a *Agent) Done() <-chan struct{} { return a.done }

// ExitCode is the code it ended with, -1 after a signal. Only when Done.
func (a *Agent) ExitCode() int { return a.cmd.ProcessState.ExitCode() }

// Kill ends the agent with SIGKILL and waits for it.
func (a *Agent) Kill() {
	_ = a.cmd.Process.Kill() // it may have ended
	<-a.done
}

// Stop asks the agent to end, and makes it, if it does not within 15 s.
func (a *Agent) Stop() error {
	_ = a.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-a.done:
		return a.err
	case <-time.After(15 * time.Second):
		a.Kill()
		return fmt.Errorf("stop agent: it did not end within 15 s of SIGTERM")
	}
}

// Log is what all agents of the stage have written so far.
func (a *Agent) Log() string {
	text, err := os.ReadFile(a.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
