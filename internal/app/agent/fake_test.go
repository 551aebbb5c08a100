// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	gib  = 1 << 30
	card = gpu.UUID("GPU-0")
)

// world is a node with one 40 GiB GPU whose processes change by the test's
// hand. Every source of the agent reads it; each can be made to fail or hang.
type world struct {
	mu       sync.Mutex
	held     map[int]uint64 // bytes by PID; pod "p<PID>" each
	grants   error
	objects  sample.SourceStatus
	node     *workload.Node
	capacity error
	instance map[gpu.UUID]int64
	restart  bool
	// gpuDelay is how long a GPU read takes; block, while not nil, hangs it.
	gpuDelay time.Duration
	block    chan struct{}
	reading  int // GPU reads under way
	// blockProc, while not nil, hangs a read of /proc.
	blockProc chan struct{}
	wallStep  time.Duration
	// annotate are the annotations of every pod.
	annotate map[string]string
}

func newWorld() *world {
	return &world{held: map[int]uint64{}, objects: sample.SourceStatus{OK: true}}
}

func (w *world) set(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) wall() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return time.Now().Add(w.wallStep)
}

func (w *world) Sample(ctx context.Context) (sample.Library, []sample.Device, error) {
	w.mu.Lock()
	block, delay := w.block, w.gpuDelay
	w.reading++
	w.mu.Unlock()
	if block != nil {
		<-block // as a call into C: no context ends it
	}
	time.Sleep(delay)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reading--
	d := sample.Device{UUID: card, State: gpu.StateOK, Name: "Test", Memory: &sample.Memory{Total: 40 * gib, Reserved: gib}}
	for pid, bytes := range w.held {
		d.Memory.Used += bytes
		d.Processes = append(d.Processes, sample.Held{PID: pid, Bytes: &bytes})
	}
	return sample.Library{OK: true}, []sample.Device{d}, nil
}

func (w *world) Instances() map[gpu.UUID]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.instance)
}

func (w *world) RestartNeeded() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.restart
}

func podUID(pid int) string { return fmt.Sprintf("00000000-0000-0000-0000-%012d", pid) }

func (w *world) Processes(pids []int) map[int]sample.Process {
	w.mu.Lock()
	block := w.blockProc
	w.mu.Unlock()
	if block != nil {
		<-block
	}
	out := map[int]sample.Process{}
	for _, pid := range pids {
		out[pid] = sample.Process{StartTicks: uint64(pid), Comm: "train", Cgroup: fmt.Sprintf(
			"0::/kubepods.slice/kubepods-pod%s.slice/cri-containerd-%064x.scope",
			strings.ReplaceAll(podUID(pid), "-", "_"), pid)}
	}
	return out
}

func (w *world) PodUsage() ([]sample.PodUsage, error) { return nil, nil }
func (w *world) Reach() ([]sample.Reach, error)       { return nil, nil }

func (w *world) Capacity() (map[string]int64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.capacity != nil {
		return nil, w.capacity
	}
	return map[string]int64{"cpu": 8000, "memory": 64 * gib}, nil
}

func (w *world) Read(context.Context) (sample.Grants, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.grants != nil {
		return sample.Grants{}, w.grants
	}
	return sample.Grants{Readable: true}, nil
}

func (w *world) Objects() sample.Objects {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := sample.Objects{Known: true, Node: w.node}
	for pid := range w.held {
		o.Pods = append(o.Pods, workload.Pod{Namespace: "team", Name: fmt.Sprintf("p%d", pid), UID: podUID(pid),
			IP: "10.0.0.1", Annotations: w.annotate, Phase: workload.PhaseRunning, Containers: []workload.Container{{Name: "main", ID: fmt.Sprintf("%064x", pid), Running: true}}})
	}
	return o
}

func (w *world) Status() sample.SourceStatus {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.objects
}

// drawer keeps what a spool would write.
type drawer struct {
	mu      sync.Mutex
	batches []usage.Batch
	kept    map[gpu.UUID]int64
	fail    error
	pending []usage.Batch
	flushes int
	seq     uint64
}

func (d *drawer) Append(b usage.Batch) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seq++
	b.Seq = d.seq // the spool numbers, as gap records come in between
	d.pending = append(d.pending, b)
	return d.flush()
}

func (d *drawer) Flush() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.flushes++
	return d.flush()
}

func (d *drawer) flush() error {
	if d.fail != nil && len(d.pending) > 0 {
		return d.fail
	}
	d.batches = append(d.batches, d.pending...)
	d.pending = nil
	return nil
}

func (d *drawer) set(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail = err
}

func (d *drawer) KeepInstances(at map[gpu.UUID]int64) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept = at
	return nil
}

// run is an agent at work in a synctest bubble.
type run struct {
	t     *testing.T
	world *world
	agent *Agent
	drawer
	log  *syncBuffer
	stop context.CancelFunc
	done chan error

	recorder slowRecorder
}

// slowRecorder holds every sample up.
type slowRecorder struct {
	mu    sync.Mutex
	delay time.Duration
}

func (r *slowRecorder) Write(sample.Sample) error {
	r.mu.Lock()
	delay := r.delay
	r.mu.Unlock()
	time.Sleep(delay)
	return nil
}

func (r *slowRecorder) set(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.delay = d
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// count is how many log lines contain text.
func (s *syncBuffer) count(text string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for line := range strings.Lines(s.b.String()) {
		if strings.Contains(line, text) {
			n++
		}
	}
	return n
}

// begin starts an agent on w. change may alter its configuration.
// evenSteps makes every step one interval long, so that a test can say when
// the agent looks.
func evenSteps() float64 { return 0.5 }

func begin(t *testing.T, w *world, change func(*Config), more ...func(*Sources)) *run {
	t.Helper()
	r := &run{t: t, world: w, log: &syncBuffer{}, done: make(chan error, 1)}
	cfg := Config{Cluster: "c", Node: "n", Agent: "a", Boot: "b", Interval: 5 * time.Second, Draw: evenSteps, Wall: w.wall,
		Policy: attribution.Policy{}, Log: slog.New(slog.NewTextHandler(r.log, nil))}
	if change != nil {
		change(&cfg)
	}
	sources := Sources{GPUs: w, Host: w, Grants: w, Objects: w}
	if cfg.Standalone {
		sources = Sources{GPUs: w, Host: w}
	}
	for _, f := range more {
		f(&sources)
	}
	var err error
	r.agent, err = New(cfg, sources, &r.drawer, &r.recorder)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, r.stop = context.WithCancel(t.Context())
	go func() { r.done <- r.agent.Run(ctx) }()
	return r
}

// end stops the agent and checks that every window balances, that windows tile
// the time from the first sample, and returns them without gap records.
func (r *run) end() []usage.Batch {
	r.t.Helper()
	r.stop()
	if err := <-r.done; err != nil {
		r.t.Errorf("run: %v", err)
	}
	time.Sleep(10 * time.Second) // reads that were left behind come back
	var windows []usage.Batch
	for _, b := range r.batches {
		if err := b.Check(); err != nil {
			r.t.Errorf("window at %d: %v", b.StartMS, err)
		}
		if b.Gap == nil {
			windows = append(windows, b)
		}
	}
	return windows
}

func sumMS(windows []usage.Batch) (duration, measured, unmeasured int64) {
	for _, b := range windows {
		duration += b.DurationMS
		for _, p := range b.Partitions {
			measured += p.MeasuredMS
			unmeasured += p.UnmeasuredMS
		}
	}
	return duration, measured, unmeasured
}

func byteMS(windows []usage.Batch) (sum uint64) {
	for _, b := range windows {
		for _, h := range b.Holders {
			sum += h.ByteMS
		}
	}
	return sum
}

var errBroken = errors.New("broken")
