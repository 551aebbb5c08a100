// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

const (
	gib         = uint64(1) << 30
	gpuResource = "nvidia.com/gpu"
	// soon is how long a machine under load may take to come round.
	soon = 45 * time.Second
)

// node is a stage with two GPUs, each given to one pod that holds memory on
// it: ns/pod-0 and ns/pod-1.
type node struct {
	*stage.Stage
	t     *testing.T
	agent *stage.Agent
	gpus  []*mocknvml.Line
}

func newNode(t *testing.T) *node {
	t.Helper()
	s, err := stage.New(t.TempDir(), "node-1")
	if err != nil {
		t.Fatal(err)
	}
	n := &node{Stage: s, t: t}
	t.Cleanup(n.end)
	s.NVML.Driver("570.1")
	for i := range 2 {
		g := s.NVML.GPU("a100-40gb")
		n.gpus = append(n.gpus, g)
		s.Kubelet.Offer(gpuResource, g.Get("uuid"))
		n.pod(fmt.Sprintf("pod-%d", i), g, 4*gib, g.Get("uuid"))
	}
	n.must(s.SetNode(nil, corev1.ResourceList{gpuResource: *resource.NewQuantity(2, resource.DecimalSI)}))
	n.must(s.NVML.Write())
	return n
}

// end stops the agent; where the test failed, its log is shown.
func (n *node) end() {
	if n.agent != nil {
		_ = n.agent.Stop() // the test is over
		if n.t.Failed() {
			n.t.Logf("the agent's log:\n%s", n.agent.Log())
		}
	}
	n.Close()
}

// pod runs a pod with one process that holds memory on a GPU. The state has to
// be written after it.
func (n *node) pod(name string, g *mocknvml.Line, bytes uint64, devices ...string) *stage.Pod {
	n.t.Helper()
	p, err := n.Run(stage.PodSpec{Namespace: "ns", Name: name, Resource: gpuResource, Devices: devices})
	n.must(err)
	proc, err := p.Process("trainer")
	n.must(err)
	n.NVML.Proc(g, proc.PID, bytes)
	return p
}

func (n *node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

// write makes the state of the mock library what the test has set.
func (n *node) write() {
	n.t.Helper()
	n.must(n.NVML.Write())
}

// start runs the agent without waiting for it.
func (n *node) start(r stage.Run) {
	n.t.Helper()
	r.Program, r.Library = program, library
	r.Flags = append(r.Flags, "--interval", "1s")
	a, err := n.StartAgent(r)
	n.must(err)
	n.agent = a
}

// begin runs the agent and waits until it measures both GPUs.
func (n *node) begin() {
	n.t.Helper()
	n.start(stage.Run{})
	n.eventually("both GPUs are measured and their pods named", func() error {
		return n.all(n.state(0, gpu.StateOK), n.state(1, gpu.StateOK), n.holds("pod-0", 4*gib), n.holds("pod-1", 4*gib))
	})
}

// eventually waits until check is content.
func (n *node) eventually(what string, check func() error) {
	n.t.Helper()
	n.within(soon, what, check)
}

func (n *node) within(limit time.Duration, what string, check func() error) {
	n.t.Helper()
	var err error
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	n.t.Fatalf("not within %s: %s: %v", limit, what, err)
}

func (n *node) all(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// ready asks /readyz and /healthz: the state of GPUs and sources plays no part.
func (n *node) ready() error {
	for _, path := range []string{"/readyz", "/healthz"} {
		resp, err := http.Get(n.agent.URL + path)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %s", path, resp.Status)
		}
	}
	return nil
}

// picture is the last sample that /api/v1/node shows.
func (n *node) picture() (*attribution.Result, error) {
	got, err := n.fetch()
	if err == nil && got.Result == nil {
		err = fmt.Errorf("no sample yet")
	}
	return got.Result, err
}

func (n *node) fetch() (agenthttp.Node, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return agenthttp.Fetch(ctx, http.DefaultClient, n.agent.URL)
}

// boot is the name of the running process in its records.
func (n *node) boot() (string, error) {
	got, err := n.fetch()
	return got.Agent.Boot, err
}

// whole is the partition that is all of a GPU.
func (n *node) whole(i int) (attribution.Partition, error) {
	r, err := n.picture()
	if err != nil {
		return attribution.Partition{}, err
	}
	for _, p := range r.Partitions {
		if p.ID == gpu.Whole(gpu.UUID(n.gpus[i].Get("uuid"))) {
			return p, nil
		}
	}
	return attribution.Partition{}, fmt.Errorf("GPU %d is not there", i)
}

func (n *node) state(i int, want gpu.State) error {
	p, err := n.whole(i)
	if err != nil {
		return err
	}
	if p.State != want {
		return fmt.Errorf("GPU %d is %s (%s), want %s", i, p.State, p.Reason, want)
	}
	return nil
}

// holds reports an error unless a pod of namespace ns is named and holds bytes.
func (n *node) holds(pod string, bytes uint64) error {
	m, err := n.metrics()
	if err != nil {
		return err
	}
	got := m.find("gputally_memory_used_bytes", `workload_namespace="ns"`, `workload_pod="`+pod+`"`)
	if len(got) != 1 || got[0] != float64(bytes) {
		return fmt.Errorf("memory of ns/%s is %v, want %d", pod, got, bytes)
	}
	return nil
}

// logged reports an error unless the log has a line with all the parts.
func (n *node) logged(parts ...string) error {
	for line := range strings.Lines(n.agent.Log()) {
		if containsAll(line, parts) {
			return nil
		}
	}
	return fmt.Errorf("no line of the log has %q", parts)
}

func containsAll(text string, parts []string) bool {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return false
		}
	}
	return true
}
