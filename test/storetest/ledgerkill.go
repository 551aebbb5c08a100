// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/rating"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
)

// bookerEnv makes the test binary a rater that never stops by itself.
const bookerEnv = "GPUTALLY_TEST_STORE_BOOKER"

// MainLedger, called in TestMain after Main, is the rater that the suite kills.
func MainLedger(open OpenLedger) {
	dir := os.Getenv(bookerEnv)
	if dir == "" {
		return
	}
	if err := bookForever(open, dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// victims are the nodes whose hours are booked together.
var victims = []string{"n1", "n2", "n3"}

// bookForever goes on where the store stands: the hours of some nodes in one
// booking, now and then rated again, a checkpoint now and then. It prints what the
// store said once it has said it.
func bookForever(open OpenLedger, dir string) error {
	s, err := open(dir)
	if err != nil {
		return err
	}
	ctx := context.Background()
	next := 0
	for h, err := range s.Rated(ctx, time.UnixMilli(0), time.UnixMilli(1<<45), "n1") {
		if err != nil {
			return err
		}
		next = int((h.HourMS-Start)/3_600_000) + 1
	}
	for ; ; next++ {
		for change := range 2 {
			if err := bookHour(ctx, s, next, int64(change)); err != nil {
				return err
			}
			if next%3 > 0 {
				break
			}
		}
		fmt.Println("booked", next+1)
		if next%4 == 3 {
			if err := s.Checkpoint(ctx); err != nil {
				return err
			}
			fmt.Println("kept", next+1)
		}
	}
}

// bookHour sends a window of each node, so that its hour is due, and books the hour.
func bookHour(ctx context.Context, s Ledger, hour int, change int64) error {
	var group []rating.Booking
	for i, node := range victims {
		w := window(node, "p", uint64(2*hour)+uint64(change)+1, hour*60+10+int(change))
		w.Agent = fmt.Sprint("agent-", i)
		if _, err := s.Append(ctx, []usage.Batch{w}); err != nil {
			return err
		}
	}
	due, err := s.Due(ctx, time.UnixMilli(Start+int64(hour+1)*3_600_000), 1000)
	if err != nil {
		return err
	}
	for _, node := range victims {
		h := hourNo(node, hour)
		var before []ledger.Line
		for l, err := range s.Lines(ctx, ledger.Query{Cluster: h.Cluster, Node: node, FromMS: h.HourMS, ToMS: h.HourMS + 3_600_000}) {
			if err != nil {
				return err
			}
			before = append(before, *l)
		}
		n := bookingOf(fatal{}, before, h, 2, 36_000_000_000, change, ledger.Periods{})
		for _, d := range due {
			if d.NodeHour == h {
				n.Mark = d.Mark
			}
		}
		group = append(group, n)
	}
	return s.Book(ctx, group)
}

// fatal is a tb where there is no test.
type fatal struct{}

func (fatal) Helper()                      {}
func (fatal) Fatal(args ...any)            { panic(fmt.Sprint(args...)) }
func (fatal) Fatalf(f string, args ...any) { panic(fmt.Sprintf(f, args...)) }

// killedBooking: a rater is killed with SIGKILL at random moments. Afterwards every
// hour that it said it had booked is there, every booking is whole, and what an
// unfinished one was for is still due.
func killedBooking(t *testing.T, open OpenLedger) {
	dir := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	rnd := rand.New(rand.NewPCG(seed, 3))
	t.Logf("seed %d", seed)
	said := map[string]uint64{}
	for range 6 {
		killAfter(t, bookerEnv+"="+dir, 1+rnd.IntN(8), time.Duration(rnd.IntN(200))*time.Millisecond, said)
	}
	b := &books{t: t, dir: dir, open: open}
	b.reopen()
	defer func() { b.must(b.Close()) }()
	all := b.rated(0, 1<<45, "")
	if n := uint64(len(all)); said["booked"] < 4 || n < said["booked"]*uint64(len(victims)) || n%uint64(len(victims)) != 0 {
		t.Fatalf("%d hours are rated, and the raters said %v", n, said)
	}
	lines := b.lines(ledger.Query{})
	costs := b.costs(0, 1<<45)
	if v := ledger.Check(ledger.Journal{Lines: lines, Costs: costs}); v != nil {
		t.Error(v)
	}
	r, err := b.Report(context.Background(), report.Spec{FromMS: Start, ToMS: Start + 10_000*3_600_000})
	b.must(err)
	if len(r.Sections) != 1 || r.Sections[0].Total.Lines != len(lines) || len(r.Sections[0].Balance.Differences) != 0 {
		t.Errorf("%d lines report %+v", len(lines), r.Sections)
	}
	next := len(all) / len(victims)
	due, err := b.Due(context.Background(), time.UnixMilli(Start+int64(next+1)*3_600_000), 1000)
	b.must(err)
	for w, err := range b.Hour(context.Background(), startTime().Add(time.Duration(next)*time.Hour), "") {
		b.must(err)
		if h := hourNo(w.Node, next); !slices.ContainsFunc(due, func(d rating.Due) bool { return d.NodeHour == h }) {
			t.Errorf("%s has records and is neither rated nor due", h)
		}
	}
	t.Logf("%d hours, %d lines, of %v said", len(all), len(lines), said)
}
