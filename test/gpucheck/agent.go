// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/core/attribution"
)

// agent is a gputally-agent that runs for the check.
type agent struct {
	cmd *exec.Cmd
	url string
	dir string
	log string
}

// startAgent runs the agent standalone, over the given NVML library, or the
// mock with the given state file.
func startAgent(program, nvml, mockState string) (*agent, error) {
	dir, err := os.MkdirTemp("", "gpucheck")
	if err != nil {
		return nil, err
	}
	address, err := freeAddress()
	if err != nil {
		return nil, err
	}
	args := []string{"--standalone", "--interval", "1s", "--listen", address, "--spool-dir", dir + "/spool"}
	if nvml != "" {
		args = append(args, "--nvml-library", nvml)
	}
	log, err := os.Create(dir + "/log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if mockState != "" {
		cmd.Env = append(os.Environ(), "MOCK_NVML_STATE="+mockState)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the agent: %w", err)
	}
	return &agent{cmd: cmd, url: "http://" + address + "/api/v1/node", dir: dir, log: log.Name()}, nil
}

func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

func (a *agent) stop() {
	_ = a.cmd.Process.Signal(syscall.SIGTERM)
	_ = a.cmd.Wait()
	_ = os.RemoveAll(a.dir)
}

// settled waits for two samples that were begun after the call: what the
// caller did before it is in them.
func (a *agent) settled() (*attribution.Result, error) {
	first := uint64(0)
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(200 * time.Millisecond) {
		n, err := a.node()
		if err != nil || n.Result == nil {
			continue
		}
		if first == 0 {
			first = n.Agent.Samples
		}
		if n.Agent.Samples >= first+2 {
			if !n.Result.NVML.OK {
				return nil, fmt.Errorf("the agent cannot use NVML: %s", n.Result.NVML.Error)
			}
			return n.Result, nil
		}
	}
	text, _ := os.ReadFile(a.log)
	return nil, fmt.Errorf("the agent gave no sample in 20 s; it said:\n%s", text)
}

func (a *agent) node() (agenthttp.Node, error) {
	var n agenthttp.Node
	client := http.Client{Timeout: 5 * time.Second}
	resp, err := client.Get(a.url)
	if err != nil {
		return n, err
	}
	defer resp.Body.Close()
	return n, json.NewDecoder(resp.Body).Decode(&n)
}
