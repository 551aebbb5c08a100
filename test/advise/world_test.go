// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"cmp"
	"context"
	"fmt"
	rational "math/big"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const (
	gib  = uint64(1) << 30
	cell = 10 * time.Minute // a window of most nodes
)

// begin is the first moment; end is when advice is asked for: 29 days later.
var (
	begin = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	end   = begin.AddDate(0, 0, 29)
)

// prices are those of the worked examples.
type prices struct {
	t      testing.TB
	policy allocation.Policy
	split  pricing.Rule
	// book has other prices of machines, by their type.
	book map[string]money.Nano
}

func (p prices) Load() (billing.Loaded, error) {
	row := func(kind, amount, model string, gpus int, memory int64) pricing.Row {
		n, err := money.Parse(amount)
		if err != nil {
			p.t.Fatal(err)
		}
		if other, there := p.book[kind]; there {
			n = other
		}
		return pricing.Row{ID: kind, Selector: pricing.Selector{InstanceType: kind, Provider: "test"}, Currency: "USD", Price: pricing.Price{Node: &n},
			Shape: pricing.Shape{GPUs: gpus, Model: model, GPUMemoryGiB: memory, CPUMilli: int64(gpus) * 12_000, MemoryBytes: uint64(gpus) * 64 * gib}}
	}
	split := pricing.DefaultPolicy()
	split.Rule = p.split
	split.Ratio = pricing.Ratio{GPU: rational.NewRat(75, 100), CPU: rational.NewRat(15, 100), Memory: rational.NewRat(10, 100)}
	rows := []pricing.Row{row("n8a", "24", "NVIDIA A100-SXM4-80GB", 8, 80), row("n1a", "3.67", "NVIDIA A100-SXM4-80GB", 1, 80), row("n1l", "1.90", "NVIDIA L40S", 1, 48),
		row("n1x", "0.80", "NVIDIA L4", 1, 24), row("n1t", "0.53", "Tesla T4", 1, 16)}
	return billing.Loaded{Split: split, Policy: p.policy, Revision: fmt.Sprint("1", p.book), Books: []*pricing.Book{{Name: "book", Grade: pricing.Listed, Rows: rows}}}, nil
}

// node is a machine whose records are made window by window.
type node struct {
	name, kind, model string
	capacity          uint64
	slices            uint32
	gpus              int
	window            time.Duration
	pods              []pod
	// idleMW is what a card draws without any process; 0: it does not tell.
	idleMW, limitMW uint64
	// others are what pods without GPUs ask for, and allocatable what pods may have in
	// thousandths of CPUs; nil and 0: the agent does not tell.
	others      *attribution.OtherPods
	allocatable int64
	cards       []attribution.Card
	// pool is a label of the node, taint one that keeps pods away.
	pool, taint string
}

// pod is somebody on some of the node's GPUs.
type pod struct {
	namespace, kind, owner, name string
	gpus                         []int
	from, to                     time.Time // zero: from begin to end
	held                         uint64    // on the first of its GPUs
	idle                         []int     // GPUs on which it never held anything
	sm, dram, busy               float64
	// asleep says when it does nothing at all.
	asleep func(time.Time) bool
	cpu    float64
	mode   gpu.Mode
	// powerMW is what a card draws with it.
	powerMW uint64
	engine  *usage.EngineRecord
	// asks is its request in thousandths of CPUs, 4000 where it is 0; about what its
	// object says beside.
	asks  int64
	about attribution.PodAbout
}

func (p *pod) there(at time.Time) bool {
	return (p.from.IsZero() || !at.Before(p.from)) && (p.to.IsZero() || at.Before(p.to))
}

func (p *pod) holder() workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + p.namespace + "-" + p.name, Namespace: p.namespace, Pod: p.name}
}

func (n *node) id(g int) gpu.PartitionID {
	return gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%s-%d", n.name, g)))
}

// batch is the window that begins at a moment.
func (n *node) batch(at time.Time, seq uint64) usage.Batch {
	ms := n.window.Milliseconds()
	b := usage.Batch{Version: usage.BatchVersion, Cluster: "prod", Node: n.name, Agent: fmt.Sprintf("%032x", []byte(n.name)), Boot: "0123456789abcdef", Seq: seq,
		StartMS: at.UnixMilli(), DurationMS: ms, IntervalMS: 5000, ProviderID: "test:///" + n.name}
	b.Agent = b.Agent[:32]
	b.Others = n.others
	if at.Minute() == 0 {
		b.Shape = n.shape()
	}
	for g := range n.gpus {
		n.card(&b, g, at)
	}
	for i := range n.pods {
		if p := &n.pods[i]; p.there(at) {
			b.Pods = append(b.Pods, p.record(at, ms))
			if p.engine != nil {
				e := *p.engine
				e.Span, e.Holder = usage.Span{StartMS: at.UnixMilli(), DurationMS: ms}, p.holder()
				b.Engines = append(b.Engines, e)
			}
		}
	}
	return b
}

func (n *node) shape() *usage.NodeShape {
	s := usage.NodeShape{Labels: map[string]string{"kubernetes.io/hostname": n.name, "node.kubernetes.io/instance-type": n.kind}, CPUMilli: 96_000, MemoryBytes: 1 << 40}
	s.Cards = n.cards
	if n.pool != "" {
		s.Labels["pool"] = n.pool
	}
	if n.taint != "" {
		s.Taints = []string{n.taint}
	}
	if n.allocatable > 0 {
		s.AllocatableCPUMilli, s.AllocatableMemoryBytes = n.allocatable, 1<<40
	}
	for g := range n.gpus {
		s.Slots = append(s.Slots, usage.NodeSlot{Slot: fmt.Sprintf("0000:%02x:00.0", g), Model: n.model})
	}
	return &s
}

// card adds what one GPU tells.
func (n *node) card(b *usage.Batch, g int, at time.Time) {
	ms := b.DurationMS
	size := n.capacity
	span := usage.Span{StartMS: b.StartMS, DurationMS: ms}
	p := usage.PartitionRecord{Partition: n.id(g), Span: span, Names: []gpu.UUID{n.id(g).Device}, Slot: fmt.Sprintf("0000:%02x:00.0", g), Model: n.model,
		Mode: gpu.ModeExclusive, MeasuredMS: ms, CapacityBytes: &size, CapacityByteMS: size * uint64(ms), ReservedByteMS: gib / 2 * uint64(ms), Grade: gpu.Measured}
	var busy, sm, dram float64
	if n.idleMW > 0 {
		power, limit := n.idleMW, n.limitMW
		p.PowerMW, p.PowerLimitMW = &power, &limit
	}
	for i := range n.pods {
		x := &n.pods[i]
		if !x.there(at) || !slices.Contains(x.gpus, g) {
			continue
		}
		if x.mode != "" {
			p.Mode = x.mode
		}
		b.Grants = append(b.Grants, usage.GrantRecord{Partition: p.Partition, Span: span, GrantedMS: ms, Grant: attribution.Grant{Holder: x.holder(), Containers: []string{"main"},
			Source: "kubelet", Resource: "nvidia.com/gpu", DeviceIDs: []string{string(p.Partition.Device)}, Mode: p.Mode, Replicas: 1, Reserved: reserved(p.Mode)}})
		if slices.Contains(x.idle, g) {
			continue
		}
		h := x.holder()
		h.Container = "main"
		b.Holders = append(b.Holders, usage.Record{Partition: p.Partition, Span: span, Holder: h, PresentMS: ms, KnownMS: ms, ByteMS: x.held * uint64(ms), PeakBytes: x.held, Grade: gpu.Measured})
		p.UsedByteMS += x.held * uint64(ms)
		if p.PowerMW != nil {
			*p.PowerMW = max(*p.PowerMW, x.powerMW)
		}
		if x.asleep == nil || !x.asleep(at) {
			busy, sm, dram = min(busy+x.busy, 1), min(sm+x.sm, 1), min(dram+x.dram, 1)
		}
	}
	p.Signals.Busy, p.Signals.KnownMS = &busy, ms
	if sm > 0 || busy == 0 {
		tensor := sm / 2
		p.Signals.EngineActive, p.Signals.SMActive, p.Signals.DRAMActive, p.Signals.TensorActive = &busy, &sm, &dram, &tensor
	}
	p.FreeByteMS = p.CapacityByteMS - p.ReservedByteMS - p.UsedByteMS
	b.Partitions = append(b.Partitions, p)
}

func reserved(m gpu.Mode) gpu.Ratio {
	if m == gpu.ModeExclusive {
		return gpu.Ratio{Num: 1, Den: 1}
	}
	return gpu.Ratio{Num: 0, Den: 1}
}

func (p *pod) record(at time.Time, ms int64) usage.PodRecord {
	cpu := p.cpu
	if p.asleep != nil && p.asleep(at) {
		cpu = 0.001
	}
	asks := cmp.Or(p.asks, 4000)
	return usage.PodRecord{Span: usage.Span{StartMS: at.UnixMilli(), DurationMS: ms}, Holder: p.holder(), Owner: workload.Owner{Kind: p.kind, Name: p.owner, UID: "o-" + p.owner}, About: p.about,
		PresentMS: ms, CPUNanos: uint64(cpu * float64(asks) * float64(ms) * 1000), CPURequestMilliMS: asks * ms, MemoryByteMS: gib * uint64(ms), MemoryRequestByteMS: 4 * gib * uint64(ms)}
}

// world is a ledger with its advice.
type world struct {
	t        testing.TB
	now      time.Time
	store    *duck.Store
	book     map[string]money.Nano
	rater    *billing.Rater
	recorder *advising.Recorder
	service  *advising.Service
	rules    func(context.Context, time.Time) (advising.RuleSet, error)
}

func newWorld(t testing.TB) *world {
	t.Helper()
	return worldUnder(t, allocation.Policy{})
}

// worldUnder is a world under a policy.
func worldUnder(t testing.TB, policy allocation.Policy) *world {
	t.Helper()
	return worldBy(t, policy, pricing.RuleAllGPU)
}

// worldBy is a world in which prices are split by a rule, too; a fixed one by 75, 15 and 10
// parts of a hundred.
func worldBy(t testing.TB, policy allocation.Policy, split pricing.Rule) *world {
	t.Helper()
	w := &world{t: t, book: map[string]money.Nano{}, now: end.Add(2 * time.Hour)}
	store, _, err := duck.Open(t.Context(), t.TempDir(), duck.Options{MemoryBytes: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	clock := func() time.Time { return w.now }
	shelf, err := billing.NewShelf(t.Context(), store, prices{t, policy, split, w.book}, nil, clock)
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	w.rater = billing.NewRater(store, shelf, billing.RaterConfig{Now: clock})
	w.recorder = advising.NewRecorder(store, advising.RecorderConfig{Now: clock})
	w.rules = func(ctx context.Context, hour time.Time) (advising.RuleSet, error) {
		rules, err := shelf.Rules(ctx, hour)
		return advising.RuleSet{Books: rules.Books, Policy: rules.Policy, Prices: rules.Prices, Revision: rules.Revision}, err
	}
	w.service = advising.NewService(store, advising.ServiceConfig{Now: clock, Rules: w.rules})
	return w
}

// deliver appends what nodes tell of [from, to).
func (w *world) deliver(from, to time.Time, nodes ...*node) {
	w.t.Helper()
	for _, n := range nodes {
		var group []usage.Batch
		for at := from; at.Before(to); at = at.Add(n.window) {
			b := n.batch(at, uint64(at.Sub(begin)/n.window)+1)
			if at.Equal(from) {
				if err := b.Check(); err != nil {
					w.t.Fatal(err)
				}
			}
			group = append(group, b)
		}
		for part := range slices.Chunk(group, 2000) {
			if _, err := w.store.Append(context.Background(), part); err != nil {
				w.t.Fatal(err)
			}
		}
	}
}

// settle rates all there is and looks at what workloads did.
func (w *world) settle() {
	w.t.Helper()
	if err := w.rater.Round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
	if s := w.rater.Status(); len(s.Failed) > 0 {
		w.t.Fatalf("not rated: %+v", s.Failed[0])
	}
	if err := w.recorder.Round(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

// advise is the advice for one workload, "NAMESPACE/KIND/NAME".
func (w *world) advice(q inquiry.AdviceQuery) inquiry.Advice {
	w.t.Helper()
	q.AtMS = w.now.UnixMilli()
	a, err := w.service.Advice(w.t.Context(), q)
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}
