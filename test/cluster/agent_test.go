// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path"
	"syscall"
	"testing"
)

const agentBinary = "/run/node/gputally/gputally-agent"

// agentURL is where the agent that a scenario looks at listens.
var agentURL = "http://127.0.0.1:9402"

// letAgentRead gives the agent's user the rights that package kubeapi asks for, and no more.
func letAgentRead(t *testing.T) {
	t.Helper()
	apply(t, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: agent-on-the-host}
rules:
- {apiGroups: [""], resources: [pods, nodes], verbs: [get, list, watch]}
- {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch]}
- {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
- {apiGroups: [apps], resources: [replicasets, statefulsets], verbs: [get]}
- {apiGroups: [batch], resources: [jobs], verbs: [get]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: agent-on-the-host}
subjects: [{kind: User, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: agent-on-the-host, apiGroup: rbac.authorization.k8s.io}
`)
}

// agent is gputally-agent, running as a host process of the node.
type agent struct {
	cluster string // its name, and so the scenario's in the run's ledger
	spool   string
	log     *os.File
	cmd     *exec.Cmd
	more    []string // flags of this one
	said    []truth  // what it was seen to say, and so must have recorded
}

// startAgent starts the agent with an empty spool. When the test ends it is stopped, and
// its records are compared with what it said. More flags may be given.
func startAgent(t *testing.T, more ...string) *agent {
	t.Helper()
	log, err := os.OpenFile("/run/node/log/agent.log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(log, "--- %s\n", t.Name())
	a := &agent{cluster: "test", spool: t.TempDir(), log: log, more: more}
	if len(more) == 0 {
		a.cluster = path.Base(t.Name())
	}
	a.start(t)
	t.Cleanup(func() {
		if a.cmd != nil {
			a.stop(t)
		}
		if !t.Failed() {
			a.recordedAll(t)
			if len(a.said) > 0 { // else the scenario is not about who has what
				a.billed(t)
			}
		}
		log.Close()
	})
	return a
}

// start starts the agent's process on its spool, and waits until it has taken a sample.
func (a *agent) start(t *testing.T) {
	t.Helper()
	interval := cmp.Or(os.Getenv("GPUTALLY_CLUSTER_INTERVAL"), "1s") // an emulated machine is too slow for it
	a.cmd = exec.Command(agentBinary, append([]string{"--node-name=gpu-node-1", "--cluster=" + a.cluster, "--interval=" + interval,
		"--kubeconfig=/run/node/kubeconfig/agent", "--nvml-library=/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
		"--spool-dir=" + a.spool}, a.more...)...)
	a.cmd.Env = append(os.Environ(), "MOCK_NVML_STATE="+stateFile)
	a.cmd.Stdout, a.cmd.Stderr = a.log, a.log
	if err := a.cmd.Start(); err != nil {
		t.Fatalf("start the agent: %v", err)
	}
	eventually(t, "the agent is ready", func() error {
		_, err := read(agentURL + "/readyz")
		if err == nil {
			_, err = read(agentURL + "/healthz")
		}
		return err
	})
}

// stop asks the agent to end, which it must do without an error.
func (a *agent) stop(t *testing.T) {
	t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("stop the agent: %v", err)
	}
	if err := a.cmd.Wait(); err != nil {
		t.Errorf("the agent ended with an error: %v", err)
	}
	a.cmd = nil
}

// kill ends the agent without giving it a chance to write anything.
func (a *agent) kill(t *testing.T) {
	t.Helper()
	if err := a.cmd.Process.Kill(); err != nil {
		t.Fatalf("kill the agent: %v", err)
	}
	_ = a.cmd.Wait() // reports the signal
	a.cmd = nil
}

// read gets an HTTP body.
func read(url string) ([]byte, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s: %s", url, resp.Status, bytes.TrimSpace(body))
	}
	return body, nil
}

// output runs one of our programs and returns what it prints.
func output(name string, args ...string) ([]byte, error) {
	cmd := exec.Command("/run/node/gputally/"+name, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return out, fmt.Errorf("%s %v: %w: %s", name, args, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return out, nil
}
