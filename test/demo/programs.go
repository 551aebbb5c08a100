// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/gputally/gputally/test/stage"
)

// agent is the running gputally-agent.
type agent struct {
	url, spool, log string
	cmd             *exec.Cmd
	// ended is closed when the agent did, with err.
	ended chan struct{}
	err   error
}

// startAgent runs the agent with its flags pointing at the stage.
func startAgent(ctx context.Context, o options, s *stage.Stage) (*agent, error) {
	listen, err := freeAddress()
	if err != nil {
		return nil, err
	}
	a := &agent{
		url: "http://" + listen, spool: filepath.Join(s.Dir, "spool"), log: filepath.Join(s.Dir, "agent.log"),
		ended: make(chan struct{}),
	}
	log, err := os.Create(a.log)
	if err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	defer log.Close() // the child has its own
	a.cmd = exec.CommandContext(ctx, filepath.Join(o.bin, "gputally-agent"),
		"--node-name", s.Node, "--cluster", "demo", "--interval", "1s", "--listen", listen,
		"--nvml-library", o.nvml, "--proc", s.ProcRoot(), "--cgroup-root", s.CgroupRoot(),
		"--pod-resources-socket", s.Kubelet.Socket, "--kubeconfig", s.Kubeconfig(), "--spool-dir", a.spool,
	)
	a.cmd.Env = append(os.Environ(), s.NVML.Env())
	a.cmd.Stdout, a.cmd.Stderr = log, log
	a.cmd.Cancel = func() error { return a.cmd.Process.Signal(syscall.SIGTERM) }
	a.cmd.WaitDelay = 10 * time.Second
	// The agent goes when the demo does, however that comes about.
	a.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := a.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start agent: %w", err)
	}
	go func() {
		a.err = a.cmd.Wait()
		close(a.ended)
	}()
	return a, nil
}

// freeAddress is the agent's usual address, or another where that is taken.
func freeAddress() (string, error) {
	for _, address := range []string{"127.0.0.1:9402", "127.0.0.1:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		return l.Addr().String(), l.Close()
	}
	return "", fmt.Errorf("find a free port on 127.0.0.1: there is none")
}

func (a *agent) stop() {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-a.ended:
	case <-time.After(10 * time.Second):
		_ = a.cmd.Process.Kill()
	}
}

// settled is how many samples make a picture: the second one has signals and
// the settled identity of every process, and the watches have answered.
const settled = 3

// ready waits until the agent has seen the node with all its sources, and so
// many times.
func (a *agent) ready(ctx context.Context, samples uint64) error {
	why := "it does not answer"
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); {
		select {
		case <-a.ended:
			return fmt.Errorf("the agent ended: %v\n%s", a.err, a.lastLog())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		if why = a.waitingFor(ctx, samples); why == "" {
			return nil
		}
	}
	return fmt.Errorf("the agent is not ready after a minute: %s\n%s", why, a.lastLog())
}

// waitingFor says what is missing from the agent's picture, "" for nothing.
func (a *agent) waitingFor(ctx context.Context, samples uint64) string {
	var n struct {
		Agent  struct{ Samples uint64 }
		Result *struct {
			Sources map[string]struct {
				OK    bool
				Error string
			}
		}
	}
	text, err := a.get(ctx, "/api/v1/node")
	if err == nil {
		err = json.Unmarshal([]byte(text), &n)
	}
	switch {
	case err != nil:
		return err.Error()
	case n.Result == nil || n.Agent.Samples < samples:
		return "it has not taken its first samples"
	}
	for name, s := range n.Result.Sources {
		if !s.OK {
			return fmt.Sprintf("its source %s failed: %s", name, s.Error)
		}
	}
	return ""
}

func (a *agent) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.url+path, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", path, resp.Status)
	}
	return string(text), err
}

// lastLog is the end of the agent's log.
func (a *agent) lastLog() string {
	text, _ := os.ReadFile(a.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "the end of its log:\n  " + strings.Join(lines[max(len(lines)-10, 0):], "\n  ")
}
