// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/usage"
)

// fewFrom and fewDays are the time of tests that need no month. Both calendar
// months have a part of it.
var fewFrom = time.Date(2026, 10, 31, 0, 0, 0, 0, time.UTC)

const fewDays = 2

// TestAnyOrder: the records shuffled, delivered again and late, and rated at any
// time in between, come to the same books, byte by byte.
func TestAnyOrder(t *testing.T) {
	// In this time of the month an agent is down for five hours and begins anew.
	from, to := monthFrom.AddDate(0, 0, 20).Add(20*time.Hour), monthFrom.AddDate(0, 0, 22).Add(2*time.Hour)
	records := slices.DeleteFunc(inOrder(records()), func(b usage.Batch) bool { return !during(&b, from, to) })
	if boots := bootsOf(records); boots != 4 {
		t.Fatalf("%d processes of agents, want 4", boots)
	}
	end := to.Add(3 * time.Hour)
	plain := open(t, filepath.Join(t.TempDir(), "plain"), end)
	plain.deliver(records)
	plain.rate()
	plain.sound()
	lines := plain.lines(ledger.Query{})
	want := digest(t, netOf(lines))
	if want == "" {
		t.Fatal("no books")
	}
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			b := open(t, filepath.Join(t.TempDir(), "ledger"), from)
			again := b.disturb(rand.New(rand.NewPCG(seed, 1)), records, end)
			if got := digest(t, netOf(b.lines(ledger.Query{}))); got != want {
				t.Errorf("the books differ: %d bytes, want %d", len(got), len(want))
			}
			b.sound()
			if n := len(b.lines(ledger.Query{})); n <= len(lines) || again == 0 {
				t.Errorf("%d batches came twice and %d lines were booked, %d without a disturbance: nothing was disturbed", again, n, len(lines))
			}
		})
	}
}

func bootsOf(records []usage.Batch) int {
	boots := map[string]bool{}
	for i := range records {
		boots[records[i].Agent+" "+records[i].Boot] = true
	}
	return len(boots)
}

// disturb delivers the records in disorder. Agents deliver each boot's batches in
// any order here; a tenth comes days late and a tenth comes twice, and the clock
// goes on meanwhile.
func (b *books) disturb(rnd *rand.Rand, records []usage.Batch, end time.Time) (again int) {
	b.t.Helper()
	type arrival struct {
		at    int64
		batch usage.Batch
	}
	var arrivals []arrival
	for _, batch := range records {
		at := batch.StartMS + batch.DurationMS + rnd.Int64N(2*hourMS)
		if rnd.IntN(10) == 0 {
			at += rnd.Int64N(40 * hourMS)
		}
		arrivals = append(arrivals, arrival{at, batch})
		if rnd.IntN(10) == 0 {
			arrivals = append(arrivals, arrival{at + rnd.Int64N(10*hourMS), batch})
			again++
		}
	}
	slices.SortStableFunc(arrivals, func(a, b arrival) int { return int(a.at - b.at) })
	for len(arrivals) > 0 {
		n := min(1+rnd.IntN(400), len(arrivals))
		var group []usage.Batch
		for _, a := range arrivals[:n] {
			group = append(group, a.batch)
		}
		b.now = time.UnixMilli(arrivals[n-1].at).UTC()
		arrivals = arrivals[n:]
		b.deliver(group)
		if err := b.rater.Round(b.t.Context()); err != nil {
			b.t.Fatal(err)
		}
	}
	b.now = end.AddDate(0, 0, 3)
	b.rate()
	return again
}

// few is the books of some days, without what leave says.
func few(t testing.TB, leave func(*usage.Batch) bool) (b *books, left []usage.Batch) {
	t.Helper()
	b = open(t, filepath.Join(t.TempDir(), "ledger"), fewFrom.AddDate(0, 0, fewDays).Add(3*time.Hour))
	var now []usage.Batch
	for _, batch := range inOrder(days(fewFrom, fewDays)) {
		if leave != nil && leave(&batch) {
			left = append(left, batch)
		} else {
			now = append(now, batch)
		}
	}
	b.deliver(now)
	b.rate()
	return b, left
}

// during says whether a batch lies in a time.
func during(b *usage.Batch, from, to time.Time) bool {
	return b.StartMS >= from.UnixMilli() && b.StartMS+b.DurationMS <= to.UnixMilli()
}
