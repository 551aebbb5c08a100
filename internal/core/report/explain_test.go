// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

const gib = 1 << 30

// dispute is an hour of one card of 40 GiB: ml/a has half of it by grant and
// uses 10 GiB, web/z leaks 10 GiB, the driver keeps 1 GiB. For the last 10
// minutes nobody looked.
func dispute() Evidence {
	start := at("2026-11-03 10:00")
	id := gpu.Whole("GPU-1")
	var h allocation.Hour
	for i := range int64(6) {
		b := usage.Batch{Version: 1, Cluster: "c", Node: "n1", Agent: "agent", Boot: "boot", Seq: uint64(i) + 1, IntervalMS: 5000, StartMS: start + i*600_000, DurationMS: 600_000}
		span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
		p := usage.PartitionRecord{Partition: id, Span: span, Slot: "slot0", Model: "NVIDIA A100", Mode: gpu.ModeFraction, Grade: gpu.Measured}
		g := attribution.Grant{Holder: podOf("ml/a"), Source: "hami", Resource: "nvidia.com/gpumem", Mode: gpu.ModeFraction, Reserved: gpu.Ratio{Num: 1, Den: 2}}
		b.Grants = []usage.GrantRecord{{Partition: id, Span: span, Grant: g, GrantedMS: 600_000}}
		if i == 5 {
			p.UnmeasuredMS, p.Grade, p.Reasons = 600_000, gpu.Unmeasured, []string{"hung"}
		} else {
			p.MeasuredMS, p.CapacityBytes = 600_000, new(uint64(40*gib))
			p.CapacityByteMS, p.ReservedByteMS, p.UsedByteMS, p.FreeByteMS = 40*gib*600_000, gib*600_000, 20*gib*600_000, 19*gib*600_000
			held := func(account string, leak bool) usage.Record {
				return usage.Record{Partition: id, Span: span, Holder: podOf(account), Leak: leak, PresentMS: 600_000, KnownMS: 600_000, ByteMS: 10 * gib * 600_000, PeakBytes: 10 * gib, Grade: gpu.Measured}
			}
			b.Holders = []usage.Record{held("ml/a", false), held("web/z", true)}
			b.Findings = []usage.FindingRecord{{ForMS: 600_000, Finding: attribution.Finding{Kind: attribution.UnallocatedUse, Holder: podOf("web/z"), Partition: id.String(), Detail: "web/z uses a GPU that it was not given"}}}
		}
		b.Partitions = []usage.PartitionRecord{p}
		b.Pods = []usage.PodRecord{{Span: span, Holder: podOf("ml/a"), PresentMS: 600_000, CPUNanos: 600e9, CPURequestMilliMS: 2000 * 600_000, MemoryByteMS: gib * 600_000, MemoryRequestByteMS: 2 * gib * 600_000}}
		h.Batches = append(h.Batches, b)
	}
	h.Batches = append(h.Batches, h.Batches[0]) // it came twice
	h.Costs = []pricing.NodeCost{{
		Cluster: "c", Node: "n1", StartMS: start, DurationMS: hourMS, Priced: true, Currency: "USD", Total: 20 * unit, CPU: 4 * unit, Memory: 4 * unit,
		Slots: []pricing.SlotCost{{Slot: "slot0", Cost: 12 * unit}}, CPUMilli: 4000, MemoryBytes: 8 * gib,
		Basis: pricing.Basis{Grade: pricing.Listed, Source: "built-in", Row: "p4d", Revision: "2026-11-01", Hourly: 20 * unit, Split: "residual", Notes: []string{"spot is not known"}},
	}}
	return Evidence{Hour: h}
}

func podOf(account string) workload.Holder {
	namespace, pod, _ := cut(account)
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + pod, Namespace: namespace, Pod: pod}
}

// booked books the evidence as a rater does.
func booked(t *testing.T, ev *Evidence, at int64, p ledger.Periods) {
	t.Helper()
	res, err := allocation.Allocate(ev.Hour, ev.Policy)
	if err != nil {
		t.Fatal(err)
	}
	digest := ledger.DigestRecords(ev.Hour.Batches)
	c := &ev.Hour.Costs[0]
	r := ledger.Rating{NodeHour: ledger.NodeHour{Cluster: c.Cluster, Node: c.Node, HourMS: c.StartMS}, Entries: res.Entries, Revision: ledger.Revision{Records: digest, AtMS: at}}
	lines, err := ledger.Book(ev.Lines, r, p)
	if err != nil {
		t.Fatal(err)
	}
	ev.Lines = append(ev.Lines, lines...)
}

// find is the id of an account's entry.
func find(t *testing.T, ev Evidence, r allocation.Resource, account string, k allocation.Kind) string {
	t.Helper()
	res, err := allocation.Allocate(ev.Hour, ev.Policy)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range res.Entries {
		if e.Resource == r && e.Account == account && e.Kind == k {
			return e.ID
		}
	}
	t.Fatalf("no %s entry of %s", k, account)
	return ""
}

func explain(t *testing.T, id string, ev Evidence) Trace {
	t.Helper()
	trace, err := Explain(id, ev)
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

func sameText(t *testing.T, trace Trace, want string) {
	t.Helper()
	text := strings.ReplaceAll(trace.Text(), trace.Journal.Digest[:12]+"…", "DIGEST")
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), text); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExplainGrant(t *testing.T) {
	ev := dispute()
	booked(t, &ev, at("2026-11-03 12:00"), ledger.Periods{})
	trace := explain(t, find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct), ev)
	sameText(t, trace, `
ml/a, gpu: 1h from 2026-11-03T10:00Z
1. Sample. GPU-1 (NVIDIA A100) was read every 5s: for 50m it answered, for 10m nobody knows, for 0s there was no working card (hung).
   Sharing mode: fraction.
2. Attribute. ml/a (uid-a).
   A grant from hami (nvidia.com/gpumem, fraction) stood for 1h and keeps 1/2 of it from others.
   Finding unallocated_gpu_use for 50m: web/z uses a GPU that it was not given
3. Integrate. In 6 windows it was there for 50m and held 8.333 GiB·h, at most 10.00 GiB at once.
   The whole: 33.333 GiB·h = 0.833 GiB·h driver + 16.667 GiB·h holders + 0.000 GiB·h unattributed + 15.833 GiB·h free.
4. Spool. Batches 1 to 6 of agent agent, boot boot.
5. Ship. 7 batches arrived, 6 count: each once.
6. Journal. The records have the digest DIGEST, as when it was booked.
7. Price. Node n1 cost 20.00 USD in 1h: 20.00 an hour, listed, from built-in, row p4d, revision 2026-11-01.
   Split by residual: GPU slots slot0 12.00; CPU 4.00; memory 4.00.
   spot is not known
8. Allocate. Policy held. Asked for: 20.8333 % in use; reserved 50.0000 %, of which unused 29.1667 %.
   Given: 20.8333 % for use, 20.8333 % for what was kept unused, 8.3333 % for neither = 50.0000 % of 1h.
   12.00 × 50.0000 % = 6.000000000000, in whole billionths 6.00.
   Remark: batch agent/boot/1 was given more than once and counts once
9. Ledger. charge booked in 2026-11 at 2026-11-03T12:00Z: 6.00 USD.
   That is 6.00 in sum.
   The hour, divided again, comes to the same.
`)
	if g := trace.Attribute.Grants; len(g) != 1 || g[0].GrantedMS != hourMS || trace.Attribute.OtherGrants != 0 {
		t.Errorf("grants %+v, %d others", g, trace.Attribute.OtherGrants)
	}
}

// says checks that a trace says some sentences, and not those that begin with
// an exclamation mark.
func says(t *testing.T, trace Trace, want ...string) {
	t.Helper()
	text := trace.Text()
	for _, w := range want {
		sentence, not := strings.CutPrefix(w, "!")
		if strings.Contains(text, sentence) == not {
			t.Errorf("want %q in\n%s", w, text)
		}
	}
}

func TestExplainLeak(t *testing.T) {
	ev := dispute()
	booked(t, &ev, 0, ledger.Periods{})
	says(t, explain(t, find(t, ev, allocation.ResourceGPU, "web/z", allocation.Leak), ev),
		"web/z (uid-z) held memory here and had no grant: a leak.", "1 other pod had a grant on it.", "held 8.333 GiB·h",
		"= 20.8333 % of 1h.", "2.500000000000", "That is 2.50 in sum.")
}

func TestExplainPlatform(t *testing.T) {
	ev := dispute()
	booked(t, &ev, 0, ledger.Periods{})
	says(t, explain(t, find(t, ev, allocation.ResourceGPU, allocation.Idle, allocation.Platform), ev),
		"idle, gpu: 1h", "Nobody's in particular: a platform account.", "1 other pod had a grant on it.", "held 0.000 GiB·h")
}

func TestExplainCPUAndMemory(t *testing.T) {
	ev := dispute()
	booked(t, &ev, 0, ledger.Periods{})
	says(t, explain(t, find(t, ev, allocation.ResourceCPU, "ml/a", allocation.Direct), ev),
		"The node's CPU and memory were read every 5s: for 1h it answered", "In 6 windows it used 1.000 CPU-hours and had asked for 2.000; in each the greater counts.",
		"4.00 × 50.0000 % = 2.000000000000", "!Sharing mode", "!Finding")
	says(t, explain(t, find(t, ev, allocation.ResourceMemory, "ml/a", allocation.Direct), ev),
		"In 6 windows it used 1.000 GiB·h of memory and had asked for 2.000 GiB·h", "4.00 × 25.0000 % = 1.000000000000")
}

// A part of idle that the policy passed on is explained by idle.
func TestExplainShared(t *testing.T) {
	ev := dispute()
	ev.Policy.Distribute = []allocation.Distribution{{Account: allocation.Idle, How: allocation.Owner, Shares: []allocation.Share{{To: "platform-team", Weight: 1}}}}
	booked(t, &ev, 0, ledger.Periods{})
	trace := explain(t, find(t, ev, allocation.ResourceGPU, "platform-team", allocation.Shared), ev)
	if trace.Source == nil || trace.Source.Account != allocation.Idle || trace.Allocate.Line == nil || trace.Allocate.Line.Entry.Account != allocation.Idle {
		t.Fatalf("it comes from %+v", trace.Source)
	}
	says(t, trace, "It is a part of the platform account idle that the policy passed on. Steps 1 to 8 are about that.", "Policy held, idle owner platform-team:1.", "comes to the same")
	says(t, explain(t, find(t, ev, allocation.ResourceGPU, allocation.Idle, allocation.Platform), ev), "of it on: 0.00 is left.")
}

func TestExplainWithoutPrice(t *testing.T) {
	ev := dispute()
	c := &ev.Hour.Costs[0]
	c.Priced, c.Reason, c.Currency, c.Total, c.CPU, c.Memory, c.Slots = false, "no row for p4d", "", 0, 0, 0, []pricing.SlotCost{{Slot: "slot0"}}
	id := find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct)
	says(t, explain(t, id, ev), "Node n1 has no price (no row for p4d): the amount is unknown.", "Not booked yet: the hour comes to no known amount")
	booked(t, &ev, 0, ledger.Periods{})
	says(t, explain(t, id, ev), "charge booked in 2026-11 at 1970-01-01T00:00Z: no known amount.", "That is no known amount in sum.", "comes to the same")
}

func TestExplainCorrection(t *testing.T) {
	ev := dispute()
	booked(t, &ev, at("2026-11-03 12:00"), ledger.Periods{})
	id := find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct)
	ev.Hour.Costs[0].Slots[0].Cost += 2 * unit
	ev.Hour.Costs[0].Total += 2 * unit
	ev.Hour.Batches[5].IntervalMS = 1000
	says(t, explain(t, id, ev), "was read every 5s or 1s", "when it was booked it was", "the records are others now", "The hour as it is now comes to 7.00: rate it again.")
	closed := ledger.Closed{Scope: ledger.Scope{Currency: "USD"}, Month: month("2026-11")}
	booked(t, &ev, at("2026-12-09 12:00"), ledger.NewPeriods(nil, []ledger.Closed{closed}))
	trace := explain(t, id, ev)
	says(t, trace, "charge booked in 2026-11 at 2026-11-03T12:00Z: 6.00 USD.", "correction booked in 2026-12 at 2026-12-09T12:00Z: 1.00 USD.", "That is 7.00 in sum.", "comes to the same")
	if !trace.Booked.Agrees || trace.Journal.Booked != trace.Journal.Digest {
		t.Errorf("%+v", trace.Journal)
	}
}

// Where an entry was priced under several rules of splitting, each line names its own.
func TestExplainSplits(t *testing.T) {
	ev := dispute()
	booked(t, &ev, at("2026-11-03 12:00"), ledger.Periods{})
	c := &ev.Hour.Costs[0]
	c.Basis.Split = "aws-scad"
	c.Slots = []pricing.SlotCost{{Slot: "slot0", Cost: 8 * unit}}
	c.CPU, c.Memory = 5*unit, 7*unit
	for i := range ev.Lines { // lines have a basis of their own
		b := *ev.Lines[i].Basis
		b.Split = "residual"
		ev.Lines[i].Basis = &b
	}
	booked(t, &ev, at("2026-11-04 12:00"), ledger.Periods{})
	says(t, explain(t, find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct), ev), "Split by aws-scad: GPU slots slot0 8.00; CPU 5.00; memory 7.00.",
		"charge booked in 2026-11 at 2026-11-03T12:00Z: 6.00 USD, split by residual.", "adjustment booked in 2026-11 at 2026-11-04T12:00Z: -6.00 USD, split by residual.",
		"adjustment booked in 2026-11 at 2026-11-04T12:00Z: 4.00 USD, split by aws-scad.", "That is 4.00 in sum.", "comes to the same")
}

// An entry that was taken back is still explained by what there is.
func TestExplainTakenBack(t *testing.T) {
	ev := dispute()
	booked(t, &ev, 0, ledger.Periods{})
	id := find(t, ev, allocation.ResourceGPU, "web/z", allocation.Leak)
	for i := range ev.Hour.Batches {
		b := &ev.Hour.Batches[i]
		if len(b.Holders) > 1 { // it was no leak after all, but nobody's
			b.Partitions[0].UnattributedByteMS += b.Holders[1].ByteMS
			b.Holders = b.Holders[:1]
		}
	}
	says(t, explain(t, id, ev), "Policy held: the hour as it is now has no such entry.", "comes to no known amount: rate it again")
	booked(t, &ev, 1, ledger.Periods{})
	says(t, explain(t, id, ev), "web/z (uid-z) held memory here", "adjustment booked in 2026-11 at 1970-01-01T00:00Z: -2.50 USD.", "All of it was taken back: nothing stands.", "comes to the same")
}

func TestExplainGapsAndRuns(t *testing.T) {
	ev := dispute()
	ev.Hour.Batches[1].Seq, ev.Hour.Batches[3].Boot = 9, "later"
	ev.Hour.Batches[4] = usage.Batch{Cluster: "c", Node: "n1", Agent: "agent", Boot: "later", Seq: 5, StartMS: ev.Hour.Batches[4].StartMS, DurationMS: 600_000,
		Gap: &usage.Gap{Reason: "the spool was full", Span: usage.Span{StartMS: ev.Hour.Batches[4].StartMS, DurationMS: 600_000}}}
	trace := explain(t, find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct), ev)
	says(t, trace, "Batches 1 to 1 of", "Batches 3 to 3 of", "Batches 6 to 6 of", "Batches 9 to 9 of agent agent, boot boot.", "Batches 4 to 5 of agent agent, boot later.",
		"A gap of 10m from 2026-11-03T10:40Z: the spool was full.", "for 40m it answered, for 10m nobody knows, for 0s there was no working card (hung).", "For 10m there is no record.")
}

func TestExplainRefuses(t *testing.T) {
	ev := dispute()
	if _, err := Explain("nothing", ev); err == nil || !strings.Contains(err.Error(), "neither in the 0 lines given") {
		t.Errorf("error %v", err)
	}
	w := &world{}
	w.drift(t, 3, "2026-11")
	ev.Lines = w.lines
	if _, err := Explain(w.lines[0].Entry, ev); err == nil || !strings.Contains(err.Error(), "it is a drift") {
		t.Errorf("error %v", err)
	}
	ev = dispute()
	booked(t, &ev, 0, ledger.Periods{})
	ev.Lines[0].Seq = 2
	if _, err := Explain(ev.Lines[0].Entry, ev); err == nil || !strings.Contains(err.Error(), "lines are missing") {
		t.Errorf("error %v", err)
	}
	ev.Hour.Costs = nil
	if _, err := Explain("x", ev); err == nil {
		t.Error("an hour without a cost is explained")
	}
}

// Every entry of an hour can be explained, and agrees with what was booked.
func TestExplainAll(t *testing.T) {
	for _, policy := range []allocation.Policy{{}, {Basis: allocation.Memory}, {Basis: allocation.Reserved, Distribute: []allocation.Distribution{{Account: allocation.Unmeasured, How: allocation.Even}, {Account: allocation.Idle, How: allocation.Proportional}}}} {
		ev := dispute()
		ev.Policy = policy
		booked(t, &ev, 0, ledger.Periods{})
		for _, l := range ev.Lines {
			trace := explain(t, l.Entry, ev)
			if !trace.Booked.Agrees || trace.Allocate.Line == nil || trace.Price.Part == nil {
				t.Errorf("%s:\n%s", policy.Name(), trace.Text())
			}
			for i := range 9 {
				says(t, trace, "\n"+string(rune('1'+i))+". ")
			}
		}
	}
}

// TestExplainCountsWhatIsInTheHour: windows that end where the hour begins, or
// begin where it ends, have no part in it.
func TestExplainCountsWhatIsInTheHour(t *testing.T) {
	ev := dispute()
	booked(t, &ev, at("2026-11-03 12:00"), ledger.Periods{})
	entry := find(t, ev, allocation.ResourceGPU, "ml/a", allocation.Direct)
	want := explain(t, entry, ev)
	for i, start := range []int64{at("2026-11-03 09:50"), at("2026-11-03 11:00")} {
		b := ev.Hour.Batches[0]
		b.StartMS, b.DurationMS, b.Seq = start, 600_000, 900+uint64(i)
		b.Partitions, b.Holders, b.Grants, b.Pods, b.Findings, b.Gap = nil, nil, nil, nil, nil, nil
		ev.Hour.Batches = append(ev.Hour.Batches, b)
	}
	got := explain(t, entry, ev)
	if got.Ship != want.Ship || len(got.Spool.Runs) != len(want.Spool.Runs) || got.Integrate.Windows != want.Integrate.Windows {
		t.Errorf("with windows that only touch the hour: %+v, %+v, %d windows; without: %+v, %+v, %d",
			got.Ship, got.Spool, got.Integrate.Windows, want.Ship, want.Spool, want.Integrate.Windows)
	}
}

// TestExplainAPodThatWasNotRead: what it used is unknown, not 0.
func TestExplainAPodThatWasNotRead(t *testing.T) {
	s := IntegrateStep{Windows: 1, CPURequestMilliMS: 3_600_000_000}
	for of, want := range map[allocation.Resource]string{
		allocation.ResourceCPU:    "In 1 window it used an unknown amount and had asked for 1.000; in each the greater counts.",
		allocation.ResourceMemory: "In 1 window it used an unknown amount of memory and had asked for 0.000 GiB·h; in each the greater counts.",
	} {
		if got := s.text(of)[0]; got != want {
			t.Errorf("%s: %q, want %q", of, got, want)
		}
	}
}
