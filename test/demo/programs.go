// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
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

	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/stage"
)

// program is a running gputally-agent or gputally server.
type program struct {
	name, url, log string
	cmd            *exec.Cmd
	// ended is closed when the program did, with err.
	ended chan struct{}
	err   error
}

// start runs a program that listens on an address; its log is a file of the demo's
// folder.
func (d *demo) start(ctx context.Context, name, address string, env []string, line ...string) (*program, error) {
	p := &program{name: name, url: "http://" + address, log: filepath.Join(d.dir, name+".log"), ended: make(chan struct{})}
	log, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer log.Close() // the child has its own
	p.cmd = exec.CommandContext(ctx, filepath.Join(d.bin, line[0]), line[1:]...)
	p.cmd.Env = append(os.Environ(), env...)
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 10 * time.Second
	// The program goes when the demo does, however that comes about. A group of
	// its own keeps Ctrl-C from it: the demo ends its programs in order.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// freeAddress is the first of these that is free, or any that is.
func freeAddress(wanted ...string) (string, error) {
	for _, address := range append(wanted, "127.0.0.1:0") {
		l, err := net.Listen("tcp", address)
		if err != nil {
			continue
		}
		return l.Addr().String(), l.Close()
	}
	return "", fmt.Errorf("find a free port on 127.0.0.1: there is none")
}

// startServer runs gputally server on a folder of the demo's.
func (d *demo) startServer(ctx context.Context) (*program, error) {
	address, err := freeAddress("127.0.0.1:9403")
	if err != nil {
		return nil, err
	}
	p, err := d.start(ctx, "server", address, nil, "gputally", "server", "--data-dir", filepath.Join(d.dir, "ledger"),
		"--listen", address, "--price-book", filepath.Join(d.dir, pricesFile), "--policy-file", filepath.Join(d.dir, policyFile))
	if err != nil {
		return nil, err
	}
	return p, p.until(ctx, time.Minute, func() string {
		if _, err := p.get(ctx, "/healthz"); err != nil {
			return err.Error()
		}
		return ""
	})
}

// startNode puts a node on a stage and runs its agent.
func (d *demo) startNode(ctx context.Context, machine history.Node) (*live, error) {
	dir := filepath.Join(d.dir, machine.Name)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	s, err := stage.New(dir, machine.Name)
	if err != nil {
		return nil, err
	}
	n, err := build(s, machine)
	if err != nil {
		s.Close()
		return nil, fmt.Errorf("build node %s: %w", machine.Name, err)
	}
	address, err := freeAddress("127.0.0.1:9402")
	if err != nil {
		return &live{node: n}, err
	}
	line := []string{"gputally-agent",
		"--node-name", s.Node, "--cluster", machine.Cluster, "--interval", "1s", "--listen", address,
		"--nvml-library", d.nvml, "--proc", s.ProcRoot(), "--cgroup-root", s.CgroupRoot(),
		"--pod-resources-socket", s.Kubelet.Socket, "--kubeconfig", s.Kubeconfig(), "--spool-dir", filepath.Join(dir, "spool"),
	}
	if d.server != nil {
		line = append(line, "--server", d.server.url)
	}
	agent, err := d.start(ctx, machine.Name, address, []string{s.NVML.Env()}, line...)
	return &live{node: n, agent: agent}, err
}

func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// until waits until nothing is missing any more; missing says what is.
func (p *program) until(ctx context.Context, atMost time.Duration, missing func() string) error {
	why := ""
	for deadline := time.Now().Add(atMost); time.Now().Before(deadline); {
		if why = missing(); why == "" {
			return nil
		}
		select {
		case <-p.ended:
			return fmt.Errorf("%s ended: %v\n%s", p.name, p.err, p.lastLog())
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return fmt.Errorf("%s is not ready after %s: %s\n%s", p.name, atMost, why, p.lastLog())
}

// settled is how many samples make a picture: the second one has signals and
// the settled identity of every process, and the watches have answered.
const settled = 3

// ready waits until the agent has seen the node with all its sources, and so
// many times.
func (n *live) ready(ctx context.Context, samples uint64) error {
	return n.agent.until(ctx, time.Minute, func() string { return n.agent.waitingFor(ctx, samples) })
}

// waitingFor says what is missing from the agent's picture, "" for nothing.
func (p *program) waitingFor(ctx context.Context, samples uint64) string {
	var n struct {
		Agent  struct{ Samples uint64 }
		Result *struct {
			Sources map[string]struct {
				OK    bool
				Error string
			}
		}
	}
	text, err := p.get(ctx, "/api/v1/node")
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

func (p *program) get(ctx context.Context, path string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+path, nil)
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

// complaints are the errors that programs logged. There should be none: what goes
// wrong on the nodes is staged, and told as findings.
func (d *demo) complaints() (err error) {
	programs := []*program{d.server}
	for _, n := range d.nodes {
		programs = append(programs, n.agent)
	}
	for _, p := range programs {
		text, read := os.ReadFile(p.log)
		err = errors.Join(err, read)
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "level=ERROR") || strings.HasPrefix(line, "panic:") {
				err = errors.Join(err, fmt.Errorf("%s logged: %s", p.name, strings.TrimSpace(line)))
			}
		}
	}
	return err
}

// lastLog is the end of the program's log.
func (p *program) lastLog() string {
	text, _ := os.ReadFile(p.log)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "the end of its log:\n  " + strings.Join(lines[max(len(lines)-10, 0):], "\n  ")
}
