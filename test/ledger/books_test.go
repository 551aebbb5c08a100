// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/app/billing"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
)

// costLabels are the keys by which reports group.
var costLabels = []string{"team", "project", "cost-center"}

// books is a ledger as a server has it, without HTTP.
type books struct {
	t       testing.TB
	dir     string
	now     time.Time
	loader  *loader
	store   *duck.Store
	rater   *billing.Rater
	service *billing.Service
	// problems are what was wrong when it was opened.
	problems []duck.Problem
}

// loader is what an operator wrote.
type loader struct {
	t      testing.TB
	book   string
	policy allocation.Policy
	split  pricing.Rule // empty: the default's
}

// Load reads the book anew, as a server does when its file has changed.
func (l *loader) Load() (billing.Loaded, error) {
	split, all := pricesOf(l.t, l.book)
	if l.split != "" {
		split.Rule = l.split
	}
	out := billing.Loaded{Books: all, Split: split, Policy: l.policy, Files: map[string][]byte{"books.yaml": []byte(l.book)}}
	for _, b := range all {
		out.Revision += b.Name + " " + b.Revision + " "
	}
	out.Revision += l.policy.Name() + " " + string(split.Rule)
	return out, nil
}

// open opens the ledger in a folder.
func open(t testing.TB, dir string, now time.Time) *books {
	t.Helper()
	b := &books{t: t, dir: dir, now: now, loader: &loader{t: t, book: bookText, policy: policy}}
	b.open()
	t.Cleanup(b.close)
	return b
}

func (b *books) open() {
	b.t.Helper()
	ctx := context.Background()
	store, problems, err := duck.Open(ctx, b.dir, duck.Options{})
	if err != nil {
		b.t.Fatal(err)
	}
	b.problems = problems
	clock := func() time.Time { return b.now }
	shelf, err := billing.NewShelf(ctx, store, b.loader, nil, clock)
	if err != nil {
		b.t.Fatal(err)
	}
	b.store = store
	b.rater = billing.NewRater(store, shelf, billing.RaterConfig{Now: clock})
	b.service = billing.NewService(store, shelf, b.rater, billing.ServiceConfig{Labels: costLabels, Now: clock, Read: readBill, Write: writers{}})
}

// close closes the store; twice is once.
func (b *books) close() {
	if b.store == nil {
		return
	}
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
	b.store = nil
}

// deliver appends batches in groups, as they come.
func (b *books) deliver(batches []usage.Batch) {
	b.t.Helper()
	for group := range slices.Chunk(batches, 500) {
		if _, err := b.store.Append(context.Background(), group); err != nil {
			b.t.Fatal(err)
		}
	}
}

// rate rates until nothing that is over waits any more.
func (b *books) rate() {
	b.t.Helper()
	if err := b.rater.Round(context.Background()); err != nil {
		b.t.Fatal(err)
	}
	if s := b.rater.Status(); len(s.Failed) > 0 {
		b.t.Fatalf("%d hours could not be rated: %+v", len(s.Failed), s.Failed[0])
	}
	n, oldest, err := b.store.Backlog(context.Background(), b.now)
	if err != nil || n > 0 {
		b.t.Fatalf("%d hours are not rated, the first %v: %v", n, oldest, err)
	}
}

// lines are all lines, in order.
func (b *books) lines(q ledger.Query) (out []ledger.Line) {
	b.t.Helper()
	if q.ToMS == 0 {
		q.ToMS = afterwards.AddDate(1, 0, 0).UnixMilli()
	}
	for l, err := range b.store.Lines(context.Background(), q) {
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, *l)
	}
	return out
}

// costs are what the nodes cost.
func (b *books) costs() (out []pricing.NodeCost) {
	b.t.Helper()
	for c, err := range b.store.Costs(context.Background(), monthFrom.AddDate(-1, 0, 0), afterwards.AddDate(1, 0, 0)) {
		if err != nil {
			b.t.Fatal(err)
		}
		out = append(out, *c)
	}
	return out
}

// check verifies everything.
func (b *books) check() inquiry.Checked {
	b.t.Helper()
	got, err := b.service.CheckLedger(context.Background(), inquiry.CheckRequest{Months: true}, func(inquiry.Progress) {})
	if err != nil {
		b.t.Fatal(err)
	}
	return got
}

// sound fails where the books do not hold.
func (b *books) sound() {
	b.t.Helper()
	if len(b.problems) > 0 {
		b.t.Fatalf("the ledger was opened with problems: %v", b.problems)
	}
	if got := b.check(); got.Violation != nil {
		b.t.Fatalf("ledger check: %v", got.Violation)
	}
}

// inOrder are batches of several nodes by time, as they would arrive.
func inOrder(records map[string][]usage.Batch) (out []usage.Batch) {
	for _, batches := range records {
		out = append(out, batches...)
	}
	slices.SortStableFunc(out, func(a, b usage.Batch) int {
		if a.StartMS != b.StartMS {
			return int(a.StartMS - b.StartMS)
		}
		return slices.Compare([]byte(a.Node), []byte(b.Node))
	})
	return out
}
