// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/server"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// remote is a server in this process: TLS and a token, over a journal. It is away
// until it is started.
type remote struct {
	t              *testing.T
	address        string
	caFile, tokens string
	store          *duck.Store
	http           *httptest.Server
	end            context.CancelFunc
	wrote          chan error
}

const remoteToken = "the-token-of-the-test"

func newRemote(t *testing.T) *remote {
	t.Helper()
	dir := t.TempDir()
	r := &remote{t: t, address: freeAddress(t), caFile: filepath.Join(dir, "ca.pem"), tokens: filepath.Join(dir, "tokens"), wrote: make(chan error, 1)}
	r.must(os.WriteFile(r.tokens, []byte("another-token-of-the-test\n"+remoteToken+"\n"), 0o600))
	r.http = httptest.NewUnstartedServer(nil)
	r.must(r.http.Listener.Close())
	return r
}

func (r *remote) must(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// flags lead an agent there. The certificate is that of the test server, which is
// the same for all of them.
func (r *remote) flags() []string {
	r.t.Helper()
	other := httptest.NewTLSServer(http.NotFoundHandler())
	defer other.Close()
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: other.Certificate().Raw})
	r.must(os.WriteFile(r.caFile, cert, 0o600))
	token := filepath.Join(filepath.Dir(r.caFile), "token")
	r.must(os.WriteFile(token, []byte(remoteToken+"\n"), 0o600))
	return []string{"--interval", "1s", "--server", "https://" + r.address, "--server-ca-file", r.caFile, "--server-token-file", token}
}

func (r *remote) start() {
	r.t.Helper()
	var err error
	r.store, _, err = duck.Open(context.Background(), r.t.TempDir(), duck.Options{MemoryBytes: 512 << 20})
	r.must(err)
	in := server.NewIngest(r.store, server.IngestConfig{Linger: 5 * time.Millisecond, CheckpointEvery: 150 * time.Millisecond})
	ctx, end := context.WithCancel(context.Background())
	r.end = end
	go func() { r.wrote <- in.Run(ctx) }()
	auth, err := ingest.NewTokenFile(r.tokens)
	r.must(err)
	r.http.Config.Handler = ingest.Handler(ingest.Options{Taker: in, Auth: auth})
	r.http.Listener, err = net.Listen("tcp", r.address)
	r.must(err)
	r.http.StartTLS()
	r.t.Cleanup(func() {
		r.http.Close()
		r.end()
		r.must(<-r.wrote)
		r.must(r.store.Close())
	})
}

// has compares the journal with what a spool ever held: the same batches, once.
func (r *remote) has(spoolDir string) (all []usage.Batch) {
	r.t.Helper()
	want, hours := map[string]usage.Batch{}, map[time.Time]bool{}
	rep, err := spool.Verify(spoolDir, func(e spool.Entry) error {
		all = append(all, e.Batch)
		want[name(e.Batch)] = e.Batch
		hours[time.UnixMilli(e.Batch.StartMS).UTC().Truncate(time.Hour)] = true
		return e.Batch.Check()
	})
	if err != nil || !rep.OK() || len(all) == 0 {
		r.t.Fatalf("%v %+v, %d batches", err, rep, len(all))
	}
	for hour := range hours {
		for got, err := range r.store.Hour(context.Background(), hour, "") {
			r.must(err)
			if diff := cmp.Diff(want[name(got)], got, cmpopts.EquateEmpty()); diff != "" {
				r.t.Fatalf("%s is there twice, or another (-spool +journal):\n%s", name(got), diff)
			}
			delete(want, name(got))
		}
	}
	for n := range want {
		r.t.Errorf("batch %s did not arrive", n)
	}
	return all
}

// built are the programs, each made once, in a folder that TestMain removes.
var built struct {
	sync.Mutex
	dir      string
	programs map[string]error
}

// build makes a program of cmd.
func build(t *testing.T, name string) string {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "gputally-delivery-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.programs = dir, map[string]error{}
	}
	program := filepath.Join(built.dir, name)
	err, done := built.programs[name]
	if !done {
		if out, failed := exec.Command("go", "build", "-o", program, "github.com/gputally/gputally/cmd/"+name).CombinedOutput(); failed != nil {
			err = fmt.Errorf("build %s: %w\n%s", name, failed, out)
		}
		built.programs[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return program
}

func buildAgent(t *testing.T) (program, library string) {
	t.Helper()
	return build(t, "gputally-agent"), mocknvml.Build(t)
}

// shows waits until a metric of an agent is at least so much.
func shows(t *testing.T, url, metric string, least float64) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(metric) + `(?:\{.*\})? (\S+)$`)
	last := ""
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get(url + "/metrics")
		if err != nil {
			continue // it begins
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close() // read
		if m := line.FindSubmatch(body); err == nil && m != nil {
			last = string(m[1])
			if v, err := strconv.ParseFloat(last, 64); err == nil && v >= least {
				return
			}
		}
	}
	t.Fatalf("%s is %q, want %g", metric, last, least)
}

// TestAgentShipsWhatItMeasures: the real program on a staged node. Its server is
// away at first, it is stopped and killed, and everything arrives once, with the
// machine, the workloads and their labels in it.
func TestAgentShipsWhatItMeasures(t *testing.T) {
	program, library := buildAgent(t)
	s, err := stage.New(t.TempDir(), "node-a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r := newRemote(t)
	furnish(t, s)
	run := func() *stage.Agent {
		a, err := s.StartAgent(stage.Run{Program: program, Library: library, Flags: r.flags()})
		r.must(err)
		t.Cleanup(a.Kill)
		return a
	}
	first := run()
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(first.Log()) // one file for all of them
		}
	})
	measures(t, first)
	shows(t, first.URL, "gputally_ship_failures_total", 1)
	r.must(first.Stop()) // with its window in the spool
	second := run()
	shows(t, second.URL, "gputally_spool_unacknowledged_batches", 2)
	second.Kill()
	r.start()
	third := run()
	shows(t, third.URL, "gputally_ship_sent_batches_total", 2)
	third.Kill()
	last := run()
	measures(t, last)
	r.must(last.Stop())

	windows := 0
	for _, b := range r.has(last.Spool) {
		if b.ProviderID != "test:///machine-1" || b.Cluster != "stage" || b.Node != "node-a" {
			t.Errorf("batch %s is of machine %q, node %s/%s", name(b), b.ProviderID, b.Cluster, b.Node)
		}
		if b.Gap != nil {
			continue
		}
		windows++
		if want := shapeOfStage(); !cmp.Equal(want, b.Shape) {
			t.Errorf("shape (-want +got):\n%s", cmp.Diff(want, b.Shape))
		}
		checkPod(t, b)
	}
	if windows != 2 {
		t.Errorf("%d windows, want those of the two that ended in order", windows)
	}
	for says, times := range map[string]int{"records are shipped\"": 2, "records are not shipped; the spool keeps them\"": 2} {
		if n := strings.Count(last.Log(), says); n != times {
			t.Errorf("%q is %d times in the log, want %d", says, n, times)
		}
	}
}

// measures waits until an agent sees the memory of the pod and its grant, and took
// another sample since.
func measures(t *testing.T, a *stage.Agent) {
	t.Helper()
	shows(t, a.URL, "gputally_memory_used_bytes", 6<<30)
	shows(t, a.URL, "gputally_partition_grants", 1)
	shows(t, a.URL, "gputally_memory_byte_seconds_total", 1)
}

// furnish puts a machine, a card and a pod of a Deployment on the stage.
func furnish(t *testing.T, s *stage.Stage) {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	s.NVML.Option("reap=0") // the pod's process is a figure
	card := s.NVML.GPU("a100-40gb")
	s.Kubelet.Offer("nvidia.com/gpu", card.Get("uuid"))
	must(s.SetMachine(stage.Machine{ProviderID: "test:///machine-1", Created: time.UnixMilli(nodeCreated).UTC(), Labels: map[string]string{"zone": "z1"},
		Resources: corev1.ResourceList{"cpu": resource.MustParse("96"), "memory": resource.MustParse("1Ti"), "nvidia.com/gpu": resource.MustParse("1")}}))
	p, err := s.Run(stage.PodSpec{Namespace: "ml", Name: "web-6d4cf-x", Resource: "nvidia.com/gpu", Devices: []string{card.Get("uuid")},
		Owner: stage.Owner{Kind: "Deployment", Name: "web"}, Labels: map[string]string{"team": "vision", "unasked": "x"},
		Annotations: map[string]string{"cost-center": "4711"}, CPUMilli: 500})
	must(err)
	must(p.Work(time.Second, 1<<30))
	_, err = p.Figure(5_000_001)
	must(err)
	s.NVML.Proc(card, 5_000_001, 6<<30)
	must(s.NVML.Write())
}

const nodeCreated = 1_790_000_000_000

func shapeOfStage() *usage.NodeShape {
	return &usage.NodeShape{Labels: map[string]string{"zone": "z1"}, CreatedMS: nodeCreated, CPUMilli: 96_000, MemoryBytes: 1 << 40,
		AllocatableCPUMilli: 96_000, AllocatableMemoryBytes: 1 << 40,
		Slots: []usage.NodeSlot{{Slot: "0000:07:00.0", Model: "NVIDIA A100-SXM4-40GB"}}}
}

func checkPod(t *testing.T, b usage.Batch) {
	t.Helper()
	// A busy machine may have its first look at the grants a sample late, which
	// cuts the window in two.
	if len(b.Pods) != 1 || len(b.Holders) == 0 || len(b.Holders) > 2 || len(b.Grants) != 1 {
		t.Errorf("batch %s has %d pods, %d holders and %d grants, want one each", name(b), len(b.Pods), len(b.Holders), len(b.Grants))
		return
	}
	p := b.Pods[0]
	want := fmt.Sprint("ml/web-6d4cf-x ", workload.Owner{Kind: "Deployment", Name: "web", UID: "deployment/ml/web"}, map[string]string{"team": "vision", "cost-center": "4711"})
	if got := fmt.Sprint(p.Holder.Account(), " ", p.Owner, p.Labels); got != want {
		t.Errorf("pod %s, want %s", got, want)
	}
}

// TestStandaloneAgentShips: without Kubernetes the host says what it is.
func TestStandaloneAgentShips(t *testing.T) {
	program, library := buildAgent(t)
	state := mocknvml.TestState(t)
	card := state.GPU("a100-40gb")
	state.Proc(card, os.Getpid(), 6<<30)
	state.MustWrite(t)
	r := newRemote(t)
	r.start()
	dir, listen := filepath.Join(t.TempDir(), "spool"), freeAddress(t)
	cmd := exec.Command(program, append(r.flags(), "--standalone", "--node-name", "host-1", "--nvml-library", library, "--spool-dir", dir, "--listen", listen)...)
	var log strings.Builder
	cmd.Stderr = &log
	r.must(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // it may have ended
	shows(t, "http://"+listen, "gputally_memory_used_bytes", 6<<30)
	r.must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, log.String())
	}
	all := r.has(dir)
	b := all[len(all)-1]
	if b.Node != "host-1" || b.ProviderID != "" || len(b.Holders) != 1 || b.Holders[0].Holder.Kind == workload.KindPod {
		t.Errorf("batch %+v", b)
	}
	if s := b.Shape; s == nil || s.CPUMilli < 1000 || s.CPUMilli%1000 != 0 || s.MemoryBytes < 1<<28 || len(s.Slots) != 1 || s.Labels != nil {
		t.Errorf("shape %+v", s)
	}
}
