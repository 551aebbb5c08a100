// SPDX-License-Identifier: Apache-2.0

package ship

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
)

// Config says how to ship. Zero values take the defaults.
type Config struct {
	// Agent is the id under which the spool names its batches.
	Agent string
	// GroupBatches and GroupBytes bound one delivery (200 batches, 4 MiB).
	GroupBatches int
	GroupBytes   int
	// Window is how many batches may be sent and not yet durable (20,000).
	Window int
	// Poll is how often the spool is looked at (5 s), AskEvery how often the
	// server is asked what is durable where no receipt tells it (1 min).
	Poll, AskEvery time.Duration
	// MinWait and MaxWait bound the waiting after a failure (1 s, 5 min). It
	// doubles each time; each wait is drawn from the upper half. A server that is
	// busy says itself how long, and is not waited for much longer (busyTimes).
	MinWait, MaxWait time.Duration
	Log              *slog.Logger
	// Draw is uniform in [0, 1); math/rand's where nil.
	Draw func() float64
}

func (c Config) withDefaults() Config {
	set := func(d *time.Duration, v time.Duration) {
		if *d <= 0 {
			*d = v
		}
	}
	number := func(n *int, v int) {
		if *n <= 0 {
			*n = v
		}
	}
	number(&c.GroupBatches, 200)
	number(&c.GroupBytes, 4<<20)
	number(&c.Window, 20_000)
	set(&c.Poll, 5*time.Second)
	set(&c.AskEvery, time.Minute)
	set(&c.MinWait, time.Second)
	set(&c.MaxWait, 5*time.Minute)
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Draw == nil {
		c.Draw = rand.Float64
	}
	return c
}

// Shipper ships one spool to one server.
type Shipper struct {
	cfg    Config
	queue  Queue
	server Server
	aside  Aside
	stats  counters

	// How the server says this agent's batches stand.
	marks map[journal.Source]journal.Ack
	// Sent and not durable yet, in the order of the queue.
	window []sent
	// proof is a batch that the server has said is durable. When it says so no
	// longer, the server was restored from an older backup.
	proof *sent
	// looked: the last acknowledged record of the queue was compared with what
	// the server has, once per process.
	looked bool
	// rewound: the queue is read from its beginning, until its end was reached.
	rewound bool
	// heard is when the server last told how all that waits stands.
	heard  time.Time
	group  int // batches a delivery may have now
	failed int // failures in a row
	again  int // times in a row that the server lost something and nothing got durable
	// denied is the last reason for which the server did not let the agent in, as
	// it was told to the log.
	denied string
}

// sent is a record that the server has, or has refused.
type sent struct {
	source  journal.Source
	seq     uint64
	next    Position
	refused bool
}

// New ships a queue to a server.
func New(cfg Config, q Queue, s Server, a Aside) (*Shipper, error) {
	if cfg.Agent == "" {
		return nil, errors.New("ship records: no agent id")
	}
	cfg = cfg.withDefaults()
	return &Shipper{cfg: cfg, queue: q, server: s, aside: a, marks: map[journal.Source]journal.Ack{}, group: cfg.GroupBatches}, nil
}

// errAgain begins the session anew: the server has not what was taken for sent.
var errAgain = errors.New("the server lost what it had")

// Run ships until ctx ends. What fails is tried again, for as long as it takes:
// the spool keeps the records meanwhile.
func (s *Shipper) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		err := s.session(ctx, false)
		if ctx.Err() != nil {
			return nil
		}
		s.wait(ctx, s.after(err))
	}
	return nil
}

// Flush sends what the queue has now and returns when the server has accepted
// it, or with the first error. It is for the end of a program, after Run.
func (s *Shipper) Flush(ctx context.Context) error {
	for {
		err := s.session(ctx, true)
		if !errors.Is(err, errAgain) || s.again > 2 {
			return err
		}
		s.again++
	}
}

// busyTimes is how many times as long as a busy server asks for is waited at most.
const busyTimes = 8

// after notes a failure and says how long to wait.
func (s *Shipper) after(err error) time.Duration {
	s.failed++
	wait := s.cfg.MinWait << min(max(s.failed, s.again)-1, 20)
	if wait <= 0 || wait > s.cfg.MaxWait {
		wait = s.cfg.MaxWait
	}
	wait = time.Duration(float64(wait) * (0.5 + 0.5*s.cfg.Draw()))
	var busy *journal.Busy
	switch {
	case errors.Is(err, errAgain):
		if s.again++; s.again == 1 {
			wait = 0
		}
	case errors.As(err, &busy) && busy.After > 0:
		// The server is there, and says when: that may grow while it stays busy, but
		// not to minutes, which are for one that is away. Agents that were told the
		// same time must not come back together.
		wait = min(wait, busyTimes*busy.After)
		wait = max(wait, busy.After+time.Duration(float64(busy.After)*s.cfg.Draw()))
	}
	s.stats.fail(err, wait)
	s.tell(err, wait)
	return wait
}

// tell tells the log of a failure: of the first, and, since somebody has to do
// something about it, of every other reason for which the server does not let the
// agent in. The metrics tell the rest.
func (s *Shipper) tell(err error, wait time.Duration) {
	level, text := slog.LevelDebug, "records are not shipped; the spool keeps them"
	if s.failed == 1 {
		level = slog.LevelWarn
	}
	var denied *access.Denied
	if errors.As(err, &denied) {
		text = "the server does not let this agent deliver; the spool keeps the records"
		if denied.Why != s.denied {
			level = slog.LevelWarn
		}
		s.denied = denied.Why
	}
	s.cfg.Log.Log(context.Background(), level, text, "error", err, "again_in", wait.Round(time.Millisecond).String())
}

// worked notes that the server took something, or answered.
func (s *Shipper) worked() {
	switch {
	case s.failed > 0:
		s.cfg.Log.Info("records are shipped again", "failures", s.failed)
	case s.stats.status().LastSuccess.IsZero():
		s.cfg.Log.Info("records are shipped")
	}
	s.failed, s.denied = 0, ""
	s.stats.succeed()
}

// caughtUp notes that the server answered and there is nothing to send to it. A
// server that answers and takes nothing is still a failure: with something to
// send, only its taking counts.
func (s *Shipper) caughtUp() {
	if s.failed > 0 || s.stats.status().LastSuccess.IsZero() {
		s.worked()
	}
}

func (s *Shipper) wait(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// pause is the time until the queue is looked at again, not the same for all.
func (s *Shipper) pause() time.Duration {
	return time.Duration(float64(s.cfg.Poll) * (0.8 + 0.4*s.cfg.Draw()))
}

// Status returns the counts. It may be called at any time.
func (s *Shipper) Status() Status { return s.stats.status() }

// String names the batch in a log.
func (e sent) String() string { return fmt.Sprintf("%s/%d", e.source.Boot, e.seq) }
