// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/usage"
)

// Stamped is what an engine offers whose hours have stamps.
type Stamped interface {
	Ledger
	advising.Activities
	advising.Stamped
}

// RunStamps runs the contract of stamps on an engine: any change that changes an answer
// about some hours changes their stamp, and what goes on in later hours leaves it alone.
func RunStamps(t *testing.T, open func(dir string) (Stamped, error)) {
	s, err := open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	tried := 0
	t.Run("what changes an answer changes the stamp", rapid.MakeCheck(func(rt *rapid.T) {
		tried++ // each try has days and nodes of its own
		w := stampWorld{Stamped: s, t: rt, r: rand.New(rand.NewPCG(1, 2)), base: tried * 100}
		for range rapid.IntRange(4, 12).Draw(rt, "steps") {
			before, stamp := w.answers(), w.stamp()
			did := w.step()
			if after := w.answers(); after != before && w.stamp() == stamp {
				rt.Fatalf("%s changed an answer, and not the stamp:\n%s\n%s", did, before, after)
			}
		}
	}))
	t.Run("a day that is over keeps its stamp", func(t *testing.T) { stampStands(t, s) })
}

// stampHours is how many hours from Start are looked at.
const stampHours = 5

// stampWorld changes a store at random.
type stampWorld struct {
	Stamped
	t   tb
	r   *rand.Rand
	seq uint64
	// base is the first hour looked at, from Start.
	base int
}

func (w *stampWorld) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// at is an hour from the first that is looked at.
func (w *stampWorld) at(hour int) time.Time {
	return startTime().Add(time.Duration(w.base+hour) * time.Hour)
}

func (w *stampWorld) stamp() uint64 { return w.Stamp(w.at(0), w.at(stampHours)) }

// step does one thing and names it.
func (w *stampWorld) step() string {
	rt := w.t.(*rapid.T)
	hour := rapid.IntRange(-3, stampHours+3).Draw(rt, "hour")
	at, node := w.at(hour), fmt.Sprint(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "node"), w.base)
	did := rapid.SampledFrom([]string{"append", "append", "append", "book", "keep", "ask", "drop activity", "drop", "seal"}).Draw(rt, "do")
	ctx := context.Background()
	switch did {
	case "append":
		w.append(w.draw(rt, node, hour))
	case "book":
		w.book(ledger.NodeHour{Cluster: "test", Node: node, HourMS: at.UnixMilli()}, money.Nano(rapid.Int64Range(1, 9).Draw(rt, "cost")))
	case "keep":
		w.keep(node, at)
	case "ask":
		w.must(w.AskActivity(ctx, "test", node, at, at.Add(2*time.Hour)))
	case "drop activity":
		w.must(w.DropActivity(ctx, at))
	case "drop":
		_, err := w.Drop(ctx, at)
		w.must(err)
	case "seal":
		w.must(w.Seal(ctx, at))
	}
	return did
}

// draw is a window with what may say something of other hours.
func (w *stampWorld) draw(t *rapid.T, node string, hour int) usage.Batch {
	w.seq++
	b := window(node, rapid.SampledFrom([]string{"", "aws:///a/i-1", "aws:///a/i-2"}).Draw(t, "machine"), w.seq, (w.base+hour)*60+rapid.IntRange(0, 59).Draw(t, "minute"))
	b.Shape = nil
	if rapid.Bool().Draw(t, "told") {
		b.Shape = &usage.NodeShape{CPUMilli: rapid.Int64Range(1, 3).Draw(t, "cpus"), CreatedMS: w.at(0).UnixMilli()}
	}
	if rapid.IntRange(0, 3).Draw(t, "gap") == 0 {
		b.Gap = &usage.Gap{Span: usage.Span{StartMS: b.StartMS - 3*hourMS, DurationMS: rapid.Int64Range(1, 6).Draw(t, "gap hours") * hourMS}, Reason: "agent_down"}
	}
	return b
}

func (w *stampWorld) append(batches ...usage.Batch) {
	w.t.Helper()
	_, err := w.Append(context.Background(), batches)
	w.must(err)
}

func (w *stampWorld) book(h ledger.NodeHour, cost money.Nano) {
	w.t.Helper()
	w.must(w.Book(context.Background(), []rating.Booking{{Rated: rating.Rated{NodeHour: h, Costs: []pricing.NodeCost{{
		Cluster: h.Cluster, Node: h.Node, StartMS: h.HourMS, DurationMS: hourMS, Priced: true, Currency: "USD", Total: cost}}}}}))
}

// keep keeps activity that differs each time.
func (w *stampWorld) keep(node string, at time.Time) {
	w.t.Helper()
	h := BusyHour(w.r, 1, 1, 0)
	h.Cluster, h.Node, h.HourMS = "test", node, at.UnixMilli()
	due := activity.Due{Cluster: "test", Node: node, HourMS: h.HourMS, Records: "r"}
	w.must(w.KeepActivity(context.Background(), []activity.Made{{Due: due, Rules: "1", Hours: []activity.Hour{h},
		Others: &attribution.OtherPods{Requests: attribution.Requests{Pods: int64(w.r.IntN(9))}}}}))
}

// answers are all that is said of the hours looked at. When a machine was seen first and
// last is said of no hour.
func (w *stampWorld) answers() string {
	w.t.Helper()
	ctx, from, to := context.Background(), w.at(0), w.at(stampHours)
	machines, err := w.Machines(ctx, to.Add(-2*time.Hour), to, "")
	w.must(err)
	for i := range machines {
		m := &machines[i]
		m.FirstMS, m.LastMS, m.IntervalMS, m.CreatedMS = 0, 0, 0, 0
	}
	slices.SortFunc(machines, func(a, b rating.Machine) int {
		return slices.Compare([]string{a.Node, a.ProviderID}, []string{b.Node, b.ProviderID})
	})
	holders, err := w.Holders(ctx, from, to)
	w.must(err)
	others, err := w.NodeOthers(ctx, from, to)
	w.must(err)
	classes, err := w.ClassTimes(ctx, from, to)
	w.must(err)
	text, err := json.Marshal([]any{machines, holders, others, classes, w.records(from, to), walked(w, w.Rated(ctx, from, to, "")), walked(w, w.Costs(ctx, from, to)),
		walked(w, w.Activity(ctx, activity.Query{FromMS: from.UnixMilli(), ToMS: to.UnixMilli()}))})
	w.must(err)
	return string(text)
}

func (w *stampWorld) records(from, to time.Time) (out []usage.Batch) {
	for n, err := range w.Touching(context.Background(), from, to, "") {
		w.must(err)
		batches, err := n.Read()
		w.must(err)
		out = append(out, batches...)
	}
	return out
}

func walked[T any](w *stampWorld, all iter.Seq2[*T, error]) (out []T) {
	for v, err := range all {
		w.must(err)
		out = append(out, *v)
	}
	return out
}

// stampStands: what comes in for the day under way leaves the day before alone.
func stampStands(t *testing.T, s Stamped) {
	w := stampWorld{Stamped: s, t: t, r: rand.New(rand.NewPCG(1, 2)), base: 1_000_000}
	deliver := func(from, to int) {
		var all []usage.Batch
		for minute := from; minute < to; minute++ {
			all = append(all, window("a", "aws:///a/i-1", uint64(minute)+1, w.base*60+minute))
		}
		w.append(all...)
	}
	const over = (stampHours + 1) * 60 // minutes
	deliver(0, 29)
	deliver(30, over)
	stamp := w.stamp()
	deliver(over, over+60)
	deliver(over+60, over+120)
	w.book(ledger.NodeHour{Cluster: "test", Node: "a", HourMS: w.at(stampHours + 1).UnixMilli()}, 1)
	w.keep("a", w.at(stampHours+1))
	w.must(w.DropActivity(t.Context(), w.at(-1)))
	if w.stamp() != stamp {
		t.Error("the stamp of hours that are over is another one")
	}
	deliver(29, 30) // a record that comes late
	if w.stamp() == stamp {
		t.Error("the stamp is the same after a late record")
	}
}
