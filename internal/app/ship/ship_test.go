// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
)

// tape is a queue in memory. Offset counts records.
type tape struct {
	mu     sync.Mutex
	list   []Entry
	first  int64 // records before this one are gone
	acked  Position
	broken map[int64]bool // cannot be read
}

func (q *tape) add(boot string, n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for range n {
		at := int64(len(q.list))
		seq := uint64(1)
		for _, e := range q.list {
			if e.Source.Boot == boot {
				seq++
			}
		}
		q.list = append(q.list, Entry{Source: journal.Source{Agent: "a", Boot: boot}, Seq: seq,
			Payload: fmt.Appendf(nil, "%s/%d", boot, seq), Next: Position{Segment: 1, Offset: at + 1}})
	}
}

func (q *tape) Acked() Position { q.mu.Lock(); defer q.mu.Unlock(); return q.acked }

func (q *tape) Ack(p Position) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if p.before(q.acked) {
		return fmt.Errorf("ack goes back from %v to %v", q.acked, p)
	}
	q.acked = p
	return nil
}

func (q *tape) Walk(from Position) Walk { return &reader{tape: q, at: max(from.Offset, q.first)} }

type reader struct {
	*tape
	at int64
}

func (r *reader) Next() (Entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at >= int64(len(r.list)) {
		return Entry{}, io.EOF
	}
	r.at++
	if r.broken[r.at-1] {
		return Entry{}, &Damage{errors.New("bad checksum")}
	}
	return r.list[r.at-1], nil
}

func (r *reader) Close() error { return nil }

// remote is a server in memory, whose failures the tests choose.
type remote struct {
	mu    sync.Mutex
	acks  map[string]journal.Ack
	log   []string // what was delivered, in order
	calls []time.Time
	fail  error
	most  int             // batches in a delivery, 0: any
	big   string          // too large, alone or with others
	bad   map[string]bool // refused
	lazy  bool            // nothing becomes durable
	next  []error         // of the next calls of Send, nil: it works
}

func newRemote() *remote { return &remote{acks: map[string]journal.Ack{}, bad: map[string]bool{}} }

func (s *remote) Send(_ context.Context, batches [][]byte) (r journal.Receipt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, time.Now())
	if len(s.next) > 0 {
		err, s.next = s.next[0], s.next[1:]
		if err != nil {
			return r, err
		}
	}
	switch {
	case s.fail != nil:
		return r, s.fail
	case s.most > 0 && len(batches) > s.most, slices.ContainsFunc(batches, func(b []byte) bool { return string(b) == s.big }):
		return r, fmt.Errorf("413: %w", journal.ErrTooLarge)
	}
	for i, b := range batches {
		boot, seq := name(string(b))
		if s.bad[string(b)] {
			r.Refused = append(r.Refused, journal.Refusal{Index: i, Code: journal.RefusedInvalid, Detail: "poison"})
			continue
		}
		s.log = append(s.log, string(b))
		ack := s.acks[boot]
		ack.Source = journal.Source{Agent: "a", Boot: boot}
		ack.Accepted, _ = ack.Accepted.With(seq)
		if !s.lazy {
			ack.Durable = ack.Accepted
		}
		s.acks[boot] = ack
		r.Acks = append(r.Acks, ack)
	}
	return r, nil
}

func name(batch string) (boot string, seq uint64) {
	boot, number, _ := strings.Cut(batch, "/")
	_, _ = fmt.Sscan(number, &seq)
	return boot, seq
}

func (s *remote) Acks(context.Context, string) (out []journal.Ack, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, time.Now())
	if s.fail != nil {
		return nil, s.fail
	}
	for _, a := range s.acks {
		out = append(out, a)
	}
	return out, nil
}

func (s *remote) set(f func()) { s.mu.Lock(); defer s.mu.Unlock(); f() }

type kept struct {
	names []string
	fail  error
}

func (k *kept) Keep(batch []byte, r journal.Refusal) error {
	if k.fail != nil {
		return k.fail
	}
	k.names = append(k.names, string(batch)+" "+r.Code+" "+fmt.Sprintf("%s/%d", r.Boot, r.Seq))
	return nil
}

// bench is a shipper that runs in time of its own.
type bench struct {
	t      *testing.T
	queue  *tape
	server *remote
	aside  *kept
	*Shipper
}

func running(t *testing.T, f func(b *bench)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bench{t: t, queue: &tape{broken: map[int64]bool{}}, server: newRemote(), aside: &kept{}}
		b.fresh()
		f(b)
	})
}

func (b *bench) fresh() {
	s, err := New(Config{Agent: "a", GroupBatches: 3, Draw: func() float64 { return 0.5 }}, b.queue, b.server, b.aside)
	if err != nil {
		b.t.Fatal(err)
	}
	b.Shipper = s
}

// during runs the shipper for a while.
func (b *bench) during(d time.Duration) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), d)
	defer cancel()
	if err := b.Run(ctx); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) delivered(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.server.log, want) {
		b.t.Errorf("delivered %v, want %v", b.server.log, want)
	}
}

func TestShipsInOrderAndForgets(t *testing.T) {
	running(t, func(b *bench) {
		b.queue.add("x", 4)
		b.during(time.Second)
		b.queue.add("x", 1)
		b.queue.add("y", 1)
		b.during(time.Minute)
		b.delivered("x/1", "x/2", "x/3", "x/4", "x/5", "y/1")
		if st := b.Status(); b.queue.acked.Offset != 6 || st.Sent != 6 || st.Durable != 6 || st.Waiting != 0 || st.LastError != "" {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
	})
}

// TestForgetsOnlyWhatIsDurable: accepted is not enough. Once it is durable the
// agent learns it, even with nothing new to send.
func TestForgetsOnlyWhatIsDurable(t *testing.T) {
	running(t, func(b *bench) {
		b.server.lazy = true
		b.queue.add("x", 5)
		b.during(time.Minute / 2)
		if st := b.Status(); b.queue.acked.Offset != 0 || st.Sent != 5 || st.Durable != 0 || st.Waiting != 5 {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
		b.server.set(func() { a := b.server.acks["x"]; a.Durable = a.Accepted; b.server.acks["x"] = a })
		b.during(2 * time.Minute)
		if b.queue.acked.Offset != 5 {
			t.Errorf("acked %v, want 5", b.queue.acked)
		}
		b.delivered("x/1", "x/2", "x/3", "x/4", "x/5")
	})
}

// TestForgetsEarlierBootsWhileItSends: receipts tell of the boots in a delivery.
// What earlier boots left is asked for, however often there is something to send.
func TestForgetsEarlierBootsWhileItSends(t *testing.T) {
	running(t, func(b *bench) {
		b.server.lazy = true
		b.queue.add("x", 3)
		b.during(10 * time.Second)
		b.fresh() // a new process
		ctx, cancel := context.WithCancel(b.t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		for range 20 {
			b.queue.add("y", 1)
			time.Sleep(30 * time.Second)
			b.server.set(func() {
				for boot, a := range b.server.acks {
					a.Durable = a.Accepted
					b.server.acks[boot] = a
				}
			})
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if b.queue.acked.Offset < 20 {
			t.Errorf("acked %v of 23 though all is durable; %+v", b.queue.acked, b.Status())
		}
		if n := len(b.server.calls); n > 60 {
			t.Errorf("%d calls in ten minutes", n)
		}
	})
}

// TestDaysWithoutServer: the waiting grows to its limit and no further, and all
// is delivered once the server is there.
func TestDaysWithoutServer(t *testing.T) {
	running(t, func(b *bench) {
		b.server.fail = errors.New("connection refused")
		b.queue.add("x", 7)
		b.during(72 * time.Hour)
		if n := len(b.server.calls); n < 600 || n > 1300 {
			t.Errorf("%d tries in three days, want about one in four minutes", n)
		}
		for i := 1; i < len(b.server.calls); i++ {
			if d := b.server.calls[i].Sub(b.server.calls[i-1]); d > 5*time.Minute {
				t.Errorf("try %d came after %s", i, d)
			}
		}
		if st := b.Status(); st.LastError == "" || st.NextTry.IsZero() {
			t.Errorf("%+v", st)
		}
		b.server.set(func() { b.server.fail = nil })
		b.during(6 * time.Minute)
		if b.queue.acked.Offset != 7 || b.Status().LastError != "" {
			t.Errorf("acked %v, %+v", b.queue.acked, b.Status())
		}
	})
}

// TestBusyServerIsGivenTime: the server's word for when to come again counts.
func TestBusyServerIsGivenTime(t *testing.T) {
	running(t, func(b *bench) {
		b.server.fail = &journal.Busy{After: 2 * time.Minute, Why: "full"}
		b.during(10 * time.Minute)
		if n := len(b.server.calls); n < 2 || n > 4 {
			t.Errorf("%d tries in ten minutes", n)
		}
	})
}

// TestBusyServerIsNotLeft: a server that is there and busy is asked again soon,
// however often it was busy before.
func TestBusyServerIsNotLeft(t *testing.T) {
	running(t, func(b *bench) {
		b.server.fail = &journal.Busy{After: time.Second, Why: "full"}
		b.queue.add("x", 7)
		b.during(time.Hour)
		if n := len(b.server.calls); n < 3600/busyTimes {
			t.Errorf("%d tries in an hour", n)
		}
		for i := 1; i < len(b.server.calls); i++ {
			if d := b.server.calls[i].Sub(b.server.calls[i-1]); d < time.Second || d > busyTimes*time.Second {
				t.Errorf("try %d came after %s", i, d)
			}
		}
	})
}

// TestBusyWithoutATime: who says "busy" and not for how long, as a proxy does whose
// server is away, is waited for longer each time.
func TestBusyWithoutATime(t *testing.T) {
	running(t, func(b *bench) {
		b.server.fail = &journal.Busy{Why: "503 Service Unavailable"}
		b.queue.add("x", 7)
		b.during(time.Hour)
		if n := len(b.server.calls); n > 40 {
			t.Errorf("%d tries in an hour", n)
		}
	})
}

// TestLargeDeliveriesAreHalved, down to one batch; one that is too large alone is
// kept aside.
func TestLargeDeliveriesAreHalved(t *testing.T) {
	running(t, func(b *bench) {
		b.server.most = 1
		b.queue.add("x", 5)
		b.during(time.Minute)
		b.delivered("x/1", "x/2", "x/3", "x/4", "x/5")
		b.server.big = "x/7"
		b.queue.add("x", 4)
		b.during(time.Minute)
		if len(b.aside.names) != 1 || b.aside.names[0] != "x/7 too_large x/7" {
			t.Errorf("kept aside %v", b.aside.names)
		}
		if b.queue.acked.Offset != 9 {
			t.Errorf("acked %v", b.queue.acked)
		}
	})
}

// TestPoisonIsMovedAside: a refused batch is kept elsewhere, said so, counted, and
// holds up nobody. Where it cannot be kept it stays in the spool.
func TestPoisonIsMovedAside(t *testing.T) {
	running(t, func(b *bench) {
		b.server.bad["x/2"] = true
		b.aside.fail = errors.New("disk full")
		b.queue.add("x", 4)
		b.during(time.Minute)
		if st := b.Status(); b.queue.acked.Offset > 1 || !strings.Contains(st.LastError, "disk full") {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
		b.aside.fail = nil
		b.during(10 * time.Minute)
		if st := b.Status(); b.queue.acked.Offset != 4 || st.Refused != 1 || st.LastError != "" {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
		if want := "x/2 " + journal.RefusedInvalid + " x/2"; len(b.aside.names) != 1 || b.aside.names[0] != want {
			t.Errorf("kept aside %v, want %q", b.aside.names, want)
		}
	})
}

// TestServerLostWhatItAccepted: it was never durable, so it is still there.
func TestServerLostWhatItAccepted(t *testing.T) {
	running(t, func(b *bench) {
		b.server.lazy = true
		b.queue.add("x", 4)
		ctx, cancel := context.WithCancel(b.t.Context())
		done := make(chan error, 1)
		go func() { done <- b.Run(ctx) }()
		time.Sleep(10 * time.Second)
		b.server.set(func() { b.server.acks = map[string]journal.Ack{}; b.server.lazy = false })
		b.queue.add("x", 1)
		time.Sleep(10 * time.Second)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if st := b.Status(); b.queue.acked.Offset != 5 || st.Lost != 1 || st.Rewinds != 0 {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
		b.delivered("x/1", "x/2", "x/3", "x/4", "x/5", "x/1", "x/2", "x/3", "x/4")
	})
}

// TestRestoredServerGetsWhatTheSpoolHas: durable went back. What the spool has is
// sent again, from the beginning; what it has not is a gap at the server.
func TestRestoredServerGetsWhatTheSpoolHas(t *testing.T) {
	for _, restarted := range []bool{false, true} {
		running(t, func(b *bench) {
			b.queue.add("x", 3)
			b.queue.add("y", 3)
			b.during(time.Minute)
			b.queue.first = 1 // x/1 is gone from the disk
			b.server.log = nil
			b.server.acks = map[string]journal.Ack{}
			if restarted {
				b.fresh()
			}
			// The first tries are cut short: nothing may be skipped by them.
			b.server.fail = nil
			b.during(time.Nanosecond)
			b.during(time.Minute)
			b.delivered("x/2", "x/3", "y/1", "y/2", "y/3")
			if st := b.Status(); st.Rewinds != 1 || b.queue.acked.Offset != 6 {
				t.Errorf("restarted %v: acked %v, %+v", restarted, b.queue.acked, st)
			}
			b.queue.add("y", 1)
			b.during(time.Minute)
			if st := b.Status(); st.Rewinds != 1 || b.queue.acked.Offset != 7 {
				t.Errorf("restarted %v: acked %v, %+v", restarted, b.queue.acked, st)
			}
		})
	}
}

// TestRewindIsNotForgottenByAFailure: the server fails in the middle of what is
// sent again; the next try begins at the beginning, too.
func TestRewindIsNotForgottenByAFailure(t *testing.T) {
	running(t, func(b *bench) {
		b.queue.add("x", 9)
		b.during(time.Minute)
		b.server.set(func() { b.server.acks, b.server.log = map[string]journal.Ack{}, nil })
		away := errors.New("away")
		b.server.next = []error{nil, away, away, nil, away}
		b.during(10 * time.Minute)
		for seq := uint64(1); seq <= 9; seq++ {
			if !b.server.acks["x"].Durable.Has(seq) {
				t.Errorf("x/%d is not at the server: %v", seq, b.server.log)
			}
		}
	})
}

func TestDamagedStretchesArePassedOver(t *testing.T) {
	running(t, func(b *bench) {
		b.queue.add("x", 5)
		b.queue.broken[2] = true
		b.during(time.Minute)
		b.delivered("x/1", "x/2", "x/4", "x/5")
		if st := b.Status(); b.queue.acked.Offset != 5 || st.Damaged == 0 {
			t.Errorf("acked %v, %+v", b.queue.acked, st)
		}
	})
}

// TestWindow: no more is sent than may wait to become durable.
func TestWindow(t *testing.T) {
	running(t, func(b *bench) {
		b.cfg.Window = 4
		b.server.lazy = true
		b.queue.add("x", 10)
		b.during(time.Minute)
		b.delivered("x/1", "x/2", "x/3", "x/4")
		b.server.set(func() {
			b.server.lazy = false
			a := b.server.acks["x"]
			a.Durable = a.Accepted
			b.server.acks["x"] = a
		})
		b.during(time.Minute)
		if b.queue.acked.Offset != 10 {
			t.Errorf("acked %v, %+v", b.queue.acked, b.Status())
		}
	})
}

// TestServerThatForgetsEverythingIsNotHammered: a server that says thanks and
// keeps nothing does not make the agent send in a tight loop.
func TestServerThatForgetsEverythingIsNotHammered(t *testing.T) {
	running(t, func(b *bench) {
		b.queue.add("x", 1)
		forgetful := &forgetful{b.server}
		b.Shipper.server = forgetful
		b.during(time.Hour)
		if n := len(b.server.log); n < 3 || n > 100 {
			t.Errorf("sent %d times in an hour", n)
		}
	})
}

type forgetful struct{ *remote }

func (f *forgetful) Send(ctx context.Context, batches [][]byte) (journal.Receipt, error) {
	_, err := f.remote.Send(ctx, batches)
	f.acks = map[string]journal.Ack{}
	return journal.Receipt{}, err
}

func TestFlush(t *testing.T) {
	running(t, func(b *bench) {
		b.queue.add("x", 8)
		if err := b.Flush(b.t.Context()); err != nil {
			t.Error(err)
		}
		if len(b.server.log) != 8 || b.queue.acked.Offset != 8 {
			t.Errorf("delivered %v, acked %v", b.server.log, b.queue.acked)
		}
		b.server.fail = errors.New("away")
		if err := b.Flush(b.t.Context()); err == nil {
			t.Error("no word of a server that is away")
		}
	})
}
