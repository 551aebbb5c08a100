// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/workload"
)

// world is some hours of some nodes in a store, in two months that nothing else is
// in: with everything on lines that a report tells apart.
type world struct {
	b     *books
	month ledger.Month
	lines map[ledger.NodeHour][]ledger.Line
	// through is the last month that is closed, as far as booking is concerned.
	through ledger.Month
	n       int
}

// hours are the times of the world: the end of its first month, and the next.
func (w *world) hours() []int64 {
	next := (w.month + 1).StartMS()
	return []int64{next - 3_600_000, next, next + 24*3_600_000, next + 29*3_600_000}
}

func drawWorld(t *rapid.T, b *books, m ledger.Month) *world {
	w := &world{b: b, month: m, lines: map[ledger.NodeHour][]ledger.Line{}}
	for range rapid.IntRange(1, 7).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		case 0:
			w.through = rapid.SampledFrom([]ledger.Month{m, m + 1}).Draw(t, "closed")
		case 1:
			w.drift(t)
		case 2:
			w.compact(t)
		default:
			w.rate(t)
		}
	}
	return w
}

func (w *world) periods() ledger.Periods {
	sets := map[string]string{"other": "set"}
	var closed []ledger.Closed
	for _, set := range []string{"", "set"} {
		for _, c := range []money.Currency{"USD", "CNY"} {
			if w.through != 0 {
				closed = append(closed, ledger.Closed{Scope: ledger.Scope{Set: set, Currency: c}, Month: w.through})
			}
		}
	}
	return ledger.NewPeriods(sets, closed)
}

func (w *world) drift(t *rapid.T) {
	w.n++
	m := rapid.SampledFrom([]ledger.Month{w.month, w.month + 1}).Draw(t, "month")
	_, err := w.b.AddDrift(w.b.ctx(), ledger.Drift{
		Reference: fmt.Sprint("invoice ", w.month, rapid.IntRange(0, 1).Draw(t, "reference")), Currency: rapid.SampledFrom([]money.Currency{"USD", "EUR"}).Draw(t, "currency"),
		Amount: nano(rapid.Int64Range(-3, 3).Draw(t, "amount")), FromMS: m.StartMS(), ToMS: m.EndMS(), Revision: ledger.Revision{Reason: "r"},
	}, w.periods())
	w.b.must(err)
}

// Compacter is a store that makes days fast to read when they are over. It may do
// so at any time, and no answer changes.
type Compacter interface {
	Compact(ctx context.Context, day time.Time) error
	Compactable(ctx context.Context, before time.Time) ([]time.Time, error)
}

func (w *world) compact(t *rapid.T) {
	if c, ok := w.b.Ledger.(Compacter); ok {
		w.b.must(c.Compact(w.b.ctx(), time.UnixMilli(rapid.SampledFrom(w.hours()).Draw(t, "day"))))
	}
}

// rate books an hour of a node after what there is of it.
func (w *world) rate(t *rapid.T) {
	h := ledger.NodeHour{
		Cluster: rapid.SampledFrom([]string{"c", "other"}).Draw(t, "cluster"), Node: rapid.SampledFrom([]string{"n1", "n2"}).Draw(t, "node"),
		HourMS: rapid.SampledFrom(w.hours()).Draw(t, "hour"),
	}
	cost := pricing.NodeCost{Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS, DurationMS: 3_600_000,
		Currency: rapid.SampledFrom([]money.Currency{"USD", "USD", "CNY", ""}).Draw(t, "currency")}
	cost.Priced = cost.Currency != ""
	cost.Basis.Grade = rapid.SampledFrom([]pricing.Grade{pricing.Listed, pricing.Billed}).Draw(t, "price")
	cost.Basis.Split = string(rapid.SampledFrom([]pricing.Rule{"", pricing.RuleResidual, pricing.RuleAWS}).Draw(t, "split"))
	var entries []allocation.Entry
	seen := map[string]bool{}
	for range rapid.IntRange(0, 6).Draw(t, "entries") {
		e := drawEntry(t, h, &cost)
		if seen[e.ID] {
			continue
		}
		seen[e.ID] = true
		entries = append(entries, e)
		if e.Amount != nil && rapid.IntRange(0, 20).Draw(t, "off") > 0 { // else the hour is out of balance
			cost.Total += *e.Amount
		}
	}
	n := rating.Booking{Pods: drawPods(t, h), Rated: rating.Rated{NodeHour: h, Costs: []pricing.NodeCost{cost}}}
	if rapid.IntRange(0, 5).Draw(t, "no cost") == 0 {
		n.Rated.Costs = nil
	}
	if rapid.IntRange(0, 5).Draw(t, "no lines") == 0 {
		entries = nil
	}
	lines, err := ledger.Book(w.lines[h], ledger.Rating{NodeHour: h, Entries: entries, Revision: ledger.Revision{AtMS: int64(w.n)}}, w.periods())
	w.b.must(err)
	for _, l := range w.lines[h] {
		n.After = max(n.After, l.Booking)
	}
	if n.Lines, n.Rated.Booking = lines, n.After; len(lines) > 0 {
		n.Rated.Booking++
	}
	w.b.book(n)
	w.lines[h] = append(w.lines[h], lines...)
}

// drawPods are those that somebody knows.
func drawPods(t *rapid.T, h ledger.NodeHour) map[string]report.PodDimensions {
	out := map[string]report.PodDimensions{}
	for _, pod := range []string{"a", "b"} {
		if rapid.IntRange(0, 3).Draw(t, "known") > 0 {
			out[podUID(h, pod)] = report.PodDimensions{
				Owner:  workload.Owner{Kind: rapid.SampledFrom([]string{"", "Job"}).Draw(t, "owner kind"), Name: rapid.SampledFrom([]string{"", "train", "it's"}).Draw(t, "owner")},
				Labels: map[string]string{"team": rapid.SampledFrom([]string{"vision", "speech", ""}).Draw(t, "team")},
			}
		}
	}
	return out
}

// podUID: a pod is on one node.
func podUID(h ledger.NodeHour, pod string) string { return h.Cluster + h.Node + pod }

// drawEntry draws an entry of a few that an hour can have, with any numbers.
func drawEntry(t *rapid.T, h ledger.NodeHour, cost *pricing.NodeCost) allocation.Entry {
	e := allocation.Entry{
		Cluster: h.Cluster, Node: h.Node, HourMS: h.HourMS, StartMS: h.HourMS, DurationMS: 3_600_000,
		Resource: rapid.SampledFrom([]allocation.Resource{allocation.ResourceGPU, allocation.ResourceGPU, allocation.ResourceCPU, allocation.ResourceMemory}).Draw(t, "resource"),
		Kind:     rapid.SampledFrom([]allocation.Kind{allocation.Direct, allocation.Leak, allocation.Platform, allocation.Shared}).Draw(t, "kind"),
		Policy:   rapid.SampledFrom([]string{"held", "reserved"}).Draw(t, "policy"), Currency: cost.Currency, Basis: &cost.Basis,
		Note: rapid.SampledFrom([]string{"", "", allocation.Unschedulable}).Draw(t, "note"),
	}
	pod := ""
	if e.Kind == allocation.Platform {
		e.Account = rapid.SampledFrom(allocation.PlatformAccounts()).Draw(t, "account")
		if e.Account == allocation.Host {
			e.Holder = workload.Holder{Kind: workload.KindHost, Unit: rapid.SampledFrom([]string{"a.service", "b.service"}).Draw(t, "unit")}
		}
	} else if pod = rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "pod"); pod != "" {
		e.Holder = workload.Holder{Kind: workload.KindPod, PodUID: podUID(h, pod), Namespace: "ns-" + pod, Pod: pod + "'s"}
		if pod == "c" {
			e.Holder.Namespace, e.Holder.Pod = "", ""
		}
		e.Account = e.Holder.Account()
	} else {
		e.Account = "platform-team"
	}
	if e.Kind == allocation.Shared {
		e.From = rapid.SampledFrom([]string{allocation.Idle, allocation.Overhead}).Draw(t, "from")
	}
	if e.Resource == allocation.ResourceGPU {
		drawPlace(t, h, &e)
	}
	e.ID = id(h, e.Resource, e.Kind, e.Account, e.From, e.Note, e.Policy, e.Slot, e.Partition, e.Holder)
	drawQuantities(t, &e)
	return e
}

func drawPlace(t *rapid.T, h ledger.NodeHour, e *allocation.Entry) {
	e.Slot = rapid.SampledFrom([]string{"", "0000:01:00.0"}).Draw(t, "slot")
	if e.Partition = gpu.Whole(gpu.UUID("GPU-" + h.Node)); rapid.Bool().Draw(t, "mig") {
		e.Partition.Instance, e.Partition.SinceMS = 7, h.HourMS-5
		e.Profile = "1g.10gb"
	} else if rapid.IntRange(0, 3).Draw(t, "empty slot") == 0 {
		e.Partition.Device = ""
	}
	e.Model = rapid.SampledFrom([]string{"", "H100"}).Draw(t, "model")
	e.Mode = rapid.SampledFrom([]gpu.Mode{"", gpu.ModeTimeSlicing}).Draw(t, "mode")
}

func drawQuantities(t *rapid.T, e *allocation.Entry) {
	e.Grade = rapid.SampledFrom(allGrades()).Draw(t, "grade")
	if cost := e.Currency; cost != "" {
		amount := money.Nano(rapid.SampledFrom([]int64{0, 1, 7, -3, 1 << 40, 1 << 60}).Draw(t, "amount"))
		e.Amount = &amount
		if e.Kind == allocation.Platform && rapid.IntRange(0, 3).Draw(t, "moved") == 0 {
			moved := money.Nano(rapid.Int64Range(1, 9).Draw(t, "moved"))
			e.Moved = &moved
		}
	} else {
		e.Basis = nil
	}
	if e.Kind == allocation.Shared {
		return
	}
	n := func(name string) int64 { return rapid.Int64Range(0, 5).Draw(t, name) }
	e.ShareMS, e.UsedMS, e.UnusedMS, e.PresentMS, e.GrantedMS = n("share"), n("used"), n("unused"), n("present"), n("granted")
	e.CPUNanos, e.CPURequestMilliMS = uint64(n("cpu")), n("requests")
	for range n("bytes") {
		e.ByteMS.Add(1 << 63)
		e.RequestByteMS.Add(1<<62 + 1)
	}
	if e.ShareMS > 1 && rapid.Bool().Draw(t, "graded") {
		e.GradeMS = map[gpu.Grade]int64{e.Grade: 1}
		e.GradeMS[gpu.Measured] += e.ShareMS - 1
	}
}

func allGrades() []gpu.Grade {
	all := gpu.Grades()
	return all[:]
}
