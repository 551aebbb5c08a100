// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// gatherer puts one sample together. It is used by the loop's goroutine only.
type gatherer struct {
	cfg     Config
	start   time.Time
	wall    func() time.Time
	objects Objects
	engines Engines // nil where none is asked

	gpus   *probe[gpuAnswer]
	procs  *probe[map[int]sample.Process]
	pods   *probe[[]sample.PodUsage]
	reach  *probe[[]sample.Reach]
	grants *probe[sample.Grants]
	host   *probe[map[string]int64] // nil where the API server is asked

	pids []int // asked of procs; set before each take
	// What was last heard, for a sample in which a source says nothing.
	known     []sample.Device
	lib       sample.Library
	processes map[int]sample.Process
	reached   []sample.Reach
	// capacity is the host's, read at hostAt and asked for again after a while.
	capacity   map[string]int64
	hostAt     time.Time
	hostStatus sample.SourceStatus
}

type gpuAnswer struct {
	lib     sample.Library
	devices []sample.Device
}

func newGatherer(cfg Config, s Sources) *gatherer {
	g := &gatherer{cfg: cfg, start: time.Now(), wall: cfg.Wall, objects: s.Objects, engines: s.Engines}
	half, quarter := cfg.Interval/2, cfg.Interval/4
	g.gpus = newProbe(half, func(ctx context.Context) (gpuAnswer, error) {
		lib, devices, err := s.GPUs.Sample(ctx)
		return gpuAnswer{lib, devices}, err
	})
	g.pods = newProbe(half, func(context.Context) ([]sample.PodUsage, error) { return s.Host.PodUsage() })
	g.reach = newProbe(half, func(context.Context) ([]sample.Reach, error) { return s.Host.Reach() })
	g.procs = newProbe[map[int]sample.Process](quarter, nil)
	g.procs.read = func(context.Context) (map[int]sample.Process, error) { return s.Host.Processes(g.pids), nil }
	if s.Objects == nil {
		g.host = newProbe(quarter, func(context.Context) (map[string]int64, error) { return s.Host.Capacity() })
	}
	if s.Grants != nil {
		g.grants = newProbe(half, s.Grants.Read)
	}
	return g
}

// take reads every source once and returns what came. NVML comes first, since
// it names the processes that /proc is asked about; the others are read
// beside it.
func (g *gatherer) take(ctx context.Context) sample.Sample {
	s := sample.Sample{
		Node: g.cfg.Node, At: g.wall().UTC(), MonoMS: time.Since(g.start).Milliseconds(),
		Standalone: g.cfg.Standalone, Sources: map[string]sample.SourceStatus{},
	}
	var mu sync.Mutex // guards s.Sources
	report := func(name string, st sample.SourceStatus) {
		mu.Lock()
		defer mu.Unlock()
		s.Sources[name] = st
	}
	var wg sync.WaitGroup
	wg.Go(func() { g.readGPUs(ctx, &s, report) })
	if !g.cfg.Standalone {
		wg.Go(func() { g.readPods(ctx, &s, report) })
		wg.Go(func() { g.readReach(ctx, &s, report) })
	}
	if g.grants != nil {
		wg.Go(func() { g.readGrants(ctx, &s, report) })
	}
	if g.host != nil {
		wg.Go(func() { g.readHost(ctx, &s, report) })
	}
	wg.Wait()
	if g.engines != nil {
		s.Engines = g.engines.Take()
	}
	if g.objects != nil {
		s.Objects = g.objects.Objects()
		report(SourceObjects, g.objects.Status())
	}
	return s
}

type reporter func(name string, st sample.SourceStatus)

func (g *gatherer) readGPUs(ctx context.Context, s *sample.Sample, report reporter) {
	a, ok, st := g.gpus.take(ctx)
	if !ok || (len(a.devices) == 0 && st.Error != "") {
		s.NVML, s.Devices = g.hung(st.Error)
	} else {
		s.NVML, s.Devices = a.lib, a.devices
		g.lib, g.known = a.lib, a.devices
		if !a.lib.OK && st.OK {
			st.OK, st.Error = false, a.lib.Error
		}
	}
	report(SourceNVML, st)
	s.Processes = g.readProcesses(ctx, s.Devices, report)
}

// hung is what can be said while NVML as a whole does not answer: the devices
// that were there are there, and unmeasured.
func (g *gatherer) hung(why string) (sample.Library, []sample.Device) {
	lib := g.lib
	lib.OK, lib.Error = false, why
	out := slices.Clone(g.known)
	for i := range out {
		d := &out[i]
		d.State, d.Reason = "hung", "NVML: "+why
		d.Memory, d.Processes, d.Events, d.Accounted = nil, nil, nil, nil
		d.Signals, d.Power = sample.Signals{}, sample.Power{}
		d.Instances = slices.Clone(d.Instances)
		for j := range d.Instances {
			d.Instances[j].Memory, d.Instances[j].Processes = nil, nil
			d.Instances[j].Signals = sample.Signals{}
		}
	}
	return lib, out
}

// readProcesses asks /proc about the processes that the devices name. While it
// does not answer, what it last said of them stands: an owner is not lost
// because a read took too long.
func (g *gatherer) readProcesses(ctx context.Context, devices []sample.Device, report reporter) map[int]sample.Process {
	pids := pidsOf(devices)
	if !g.procs.stuck() {
		g.pids = pids
	}
	procs, ok, st := g.procs.take(ctx)
	report(SourceProcesses, st)
	if ok {
		g.processes = procs
		return procs
	}
	last := map[int]sample.Process{}
	for _, pid := range pids {
		if p, known := g.processes[pid]; known {
			last[pid] = p
		}
	}
	return last
}

// pidsOf lists the processes of all devices and instances, once each.
func pidsOf(devices []sample.Device) []int {
	var pids []int
	add := func(held []sample.Held) {
		for _, h := range held {
			pids = append(pids, h.PID)
		}
	}
	for _, d := range devices {
		add(d.Processes)
		for _, i := range d.Instances {
			add(i.Processes)
		}
	}
	slices.Sort(pids)
	return slices.Compact(pids)
}

func (g *gatherer) readPods(ctx context.Context, s *sample.Sample, report reporter) {
	v, _, st := g.pods.take(ctx)
	s.Usage = v
	report(SourcePodUsage, st)
}

func (g *gatherer) readReach(ctx context.Context, s *sample.Sample, report reporter) {
	v, ok, st := g.reach.take(ctx)
	if ok {
		g.reached = v
	}
	s.Reach = g.reached
	report(SourceReach, st)
}

// hostEvery is how often the host is asked what it has, which hardly changes.
const hostEvery = 10 * time.Minute

// readHost makes the node of what the host says of itself.
func (g *gatherer) readHost(ctx context.Context, s *sample.Sample, report reporter) {
	if g.hostAt.IsZero() || time.Since(g.hostAt) >= hostEvery {
		v, ok, st := g.host.take(ctx)
		if ok && st.OK {
			g.capacity, g.hostAt = v, time.Now()
		}
		g.hostStatus = st
	}
	report(SourceHost, g.hostStatus)
	if g.capacity != nil {
		s.Objects.Node = &workload.Node{Name: g.cfg.Node, Capacity: g.capacity}
	}
}

func (g *gatherer) readGrants(ctx context.Context, s *sample.Sample, report reporter) {
	v, _, st := g.grants.take(ctx)
	s.Grants = v
	report(SourceGrants, st)
}
