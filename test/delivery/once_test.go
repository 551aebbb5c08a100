// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// sender is an agent that ships parcels, one process after the other.
type sender struct {
	t       *testing.T
	parcels *parcels
	agent   string
	address string
	aside   string
	shipper *ship.Shipper
	end     context.CancelFunc
	done    sync.WaitGroup
}

func newSender(t *testing.T, batches []usage.Batch, address string) *sender {
	t.Helper()
	return &sender{t: t, parcels: parcelsOf(t, batches), agent: batches[0].Agent, address: address, aside: t.TempDir()}
}

// start begins a process; group is how many batches it sends at a time.
func (s *sender) start(group int) {
	s.t.Helper()
	client, err := ingest.NewClient(ingest.ClientOptions{Server: "http://" + s.address, Timeout: 30 * time.Second})
	if err != nil {
		s.t.Fatal(err)
	}
	s.shipper, err = ship.New(ship.Config{Agent: s.agent, GroupBatches: group, Poll: 20 * time.Millisecond, AskEvery: 200 * time.Millisecond,
		MinWait: 5 * time.Millisecond, MaxWait: 50 * time.Millisecond}, s.parcels, client, ingest.Aside{Dir: s.aside})
	if err != nil {
		s.t.Fatal(err)
	}
	ctx, end := context.WithCancel(s.t.Context())
	s.end = end
	s.done.Go(func() {
		if err := s.shipper.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
}

// stop ends the process, wherever it is.
func (s *sender) stop() {
	if s.end != nil {
		s.end()
		s.done.Wait()
		s.end = nil
	}
}

// once is a server and the agents of the fleet's history.
type once struct {
	*ledgerServer
	rnd     *rand.Rand
	senders []*sender
	again   int // batches that were sent again for no reason
	damaged int
	killed  map[string]int
}

// newOnce has one sender for each node of the history, in the order of its nodes.
// arrange says in which order the batches of a node come.
func newOnce(t *testing.T, rnd *rand.Rand, arrange func(node int, batches []usage.Batch) []usage.Batch) *once {
	t.Helper()
	o := &once{ledgerServer: newLedgerServer(t), rnd: rnd, killed: map[string]int{}}
	for i, n := range []string{history.NodeAWS, history.NodeGCP, history.NodeRack} {
		o.senders = append(o.senders, newSender(t, arrange(i, historyOf()[n]), o.address))
	}
	t.Cleanup(func() {
		for _, s := range o.senders {
			s.stop()
		}
	})
	return o
}

// finish lets the last server take everything, and has another one, which begins
// by rating, tell that it is durable.
func (o *once) finish() ledgerBooks {
	o.t.Helper()
	o.start(leaveRecords...)
	for _, s := range o.senders {
		s.parcels.come(1, 1)
		if s.end == nil {
			s.start(100)
		}
	}
	o.wait("to be accepted", func() int { _, left := o.sent(); return left })
	o.kill()
	o.start(leaveRecords...)
	o.wait("durable", func() (n int) {
		for _, s := range o.senders {
			n += s.parcels.unacked()
		}
		return n
	})
	for _, s := range o.senders {
		if n := s.shipper.Status().Refused; n > 0 {
			o.t.Errorf("%s: %d batches were refused", s.agent, n)
		}
	}
	return o.books()
}

// wait waits until no batch is left that is to be something.
func (o *once) wait(what string, left func() int) {
	o.t.Helper()
	o.until("/healthz")
	for deadline := time.Now().Add(finishWithin); left() > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			o.t.Fatalf("%d batches are not %s after %s\n%s", left(), what, finishWithin, o.said())
		}
	}
}

// calm is the books of a server that nothing happens to, made once.
var calm struct {
	sync.Mutex
	books *ledgerBooks
	cpu   time.Duration
}

func undisturbed(t *testing.T) (*ledgerBooks, time.Duration) {
	t.Helper()
	calm.Lock()
	defer calm.Unlock()
	if calm.books == nil {
		o := newOnce(t, nil, func(_ int, batches []usage.Batch) []usage.Batch { return batches })
		b := o.finish()
		if p := o.problems(); len(p) > 0 {
			t.Errorf("problems %v", p)
		}
		calm.books, calm.cpu = &b, o.cpu
	}
	return calm.books, calm.cpu
}

// A moment is when a server is killed, by what it is at. await returns at it, and
// says so where it is another after all.
type moment struct {
	name  string
	await func(*once) string
}

// moments has those more often in which more can happen.
var moments = []moment{
	{"while it opens the store", func(o *once) string { o.pause(500); return "" }},
	{"while it takes deliveries", (*once).taking},
	{"while it takes deliveries", (*once).taking},
	{"in its first round of rating", (*once).rating},
	{"in its first round of rating", (*once).rating},
	{"while it ends", func(o *once) string {
		o.taking()
		_ = o.cmd.Process.Signal(syscall.SIGTERM)
		o.pause(150)
		return ""
	}},
}

// taking waits until something was accepted, or nothing is left to be.
func (o *once) taking() string {
	o.until("/healthz")
	before, _ := o.sent()
	for deadline := time.Now().Add(finishWithin); ; time.Sleep(5 * time.Millisecond) {
		if now, left := o.sent(); now > before || left == 0 {
			break
		}
		if time.Now().After(deadline) {
			o.t.Fatalf("nothing is accepted: %s", o.said())
		}
	}
	o.pause(700)
	return ""
}

// sent is how many batches were accepted, and how many are to be sent.
func (o *once) sent() (n uint64, left int) {
	for _, s := range o.senders {
		if s.end != nil {
			st := s.shipper.Status()
			n, left = n+st.Sent, left+s.parcels.unacked()-st.Waiting
		}
	}
	return n, left
}

// rating waits for a moment in the first round, and says so where it was over.
func (o *once) rating() string {
	o.until("/healthz")
	for range o.rnd.IntN(20) {
		if o.answers("/readyz") {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if o.answers("/readyz") {
		return "right after its first round of rating"
	}
	return ""
}

func (o *once) answers(path string) bool { _, err := o.get(path); return err == nil }

func (o *once) pause(atMost int) { time.Sleep(time.Duration(o.rnd.IntN(atMost)) * time.Millisecond) }

// round is the life of one process of the server, which is killed at some moment.
// Some processes move the records to Parquet as soon as they begin, with a
// checkpoint for each hour; the others leave them.
func (o *once) round(i int) {
	o.t.Helper()
	if i%7 == 3 {
		o.start()
	} else {
		o.start(leaveRecords...)
	}
	m := moments[o.rnd.IntN(len(moments))]
	if what := m.await(o); what != "" {
		m.name = what
	}
	o.kill()
	o.killed[m.name]++
	if o.rnd.IntN(5) == 0 {
		o.damaged += damage(o.t, filepath.Join(o.dir, "journal.duckdb.wal"), o.rnd, o.rnd.IntN(2) == 0)
	}
}

// leaveRecords has a server leave them in the tables.
var leaveRecords = []string{"--seal-after", "1000000h"}

// echo sends again what was sent, from any node and in any order, until ctx ends:
// what a client does whose answers get lost.
func (o *once) echo(ctx context.Context, rnd *rand.Rand) {
	client, err := ingest.NewClient(ingest.ClientOptions{Server: "http://" + o.address, Timeout: 30 * time.Second})
	if err != nil {
		o.t.Error(err)
		return
	}
	for ctx.Err() == nil {
		var group [][]byte
		for _, s := range o.senders {
			group = append(group, s.parcels.some(rnd, rnd.IntN(15))...)
		}
		r, err := client.Send(ctx, group)
		if len(r.Refused) > 0 {
			o.t.Errorf("refused: %+v", r.Refused[0])
		}
		if err == nil {
			o.again += len(group)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// TestOnce: the real server, killed with SIGKILL at random moments, its log cut
// or flipped now and then, over records that come twice, in disorder, days late,
// and from an agent that was away. Its ledger comes to the same as that of a
// server to which nothing happened, in every entry and to the last digit.
func TestOnce(t *testing.T) {
	t.Parallel()
	rnd := seeded(t)
	o := newOnce(t, rnd, func(node int, batches []usage.Batch) []usage.Batch {
		last := onceFrom
		if node == 2 {
			last = onceFrom.AddDate(0, 0, 1) // its first day comes last of all
		}
		return disturbed(rnd, batches, last)
	})
	ctx, stop := context.WithCancel(t.Context())
	var echo sync.WaitGroup
	echo.Go(func() { o.echo(ctx, rand.New(rand.NewPCG(rnd.Uint64(), 1))) })
	n := kills(t)
	for i := range n {
		for k, s := range o.senders {
			away := k == 0 && i > n*3/10 && i < n*6/10
			switch {
			case away || rnd.IntN(6) == 0:
				s.stop()
			case s.end == nil:
				s.start(1 + rnd.IntN(60))
			}
			if !away {
				s.parcels.come(i+1, n)
			}
		}
		o.round(i)
	}
	stop()
	echo.Wait()
	got := o.finish()
	problems := o.problems()
	for _, kind := range slices.Compact(slices.Clone(problems)) {
		switch {
		case kind == duck.TornBlock || kind == duck.LeftoverFiles || kind == duck.CorruptLog && o.damaged > 0:
		default:
			t.Errorf("servers had problems %v, %d logs were damaged", problems, o.damaged)
		}
	}
	want, cpu := undisturbed(t)
	want.same(t, &got)
	t.Logf("killed %v; %d logs damaged; problems %v; %d batches sent again; %d lines for %d entries, undisturbed %d; the servers took %s of CPU, the undisturbed one %s",
		o.killed, o.damaged, problems, o.again, got.lines, len(got.net), want.lines, o.cpu.Round(time.Second), cpu.Round(time.Second))
	if o.again == 0 || got.lines <= want.lines || n >= 10 && len(o.killed) < 3 {
		t.Error("too little happened to prove anything")
	}
}

// same fails where two ledgers come to different things.
func (b *ledgerBooks) same(t *testing.T, got *ledgerBooks) {
	t.Helper()
	if len(b.net) < 1000 {
		t.Errorf("%d entries are too few to prove anything", len(b.net))
	}
	if !slices.Equal(b.net, got.net) {
		t.Errorf("the entries differ, %d of them, want %d (-want +got):\n%s", len(got.net), len(b.net), differing(b.net, got.net))
	}
	for i := range b.reports {
		if b.reports[i] != got.reports[i] {
			t.Errorf("a report (-want +got):\n%s", cmp.Diff(b.reports[i], got.reports[i]))
		}
	}
}

// differing are the first few entries that are in one ledger only.
func differing(want, got []string) string {
	only := func(of, not []string) (out []string) {
		for _, e := range of {
			if _, found := slices.BinarySearch(not, e); !found && len(out) < 5 {
				out = append(out, e)
			}
		}
		return out
	}
	return cmp.Diff(only(want, got), only(got, want))
}
