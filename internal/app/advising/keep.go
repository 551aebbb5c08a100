// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"slices"
	"sync"
	"time"
)

// keeper works the answer to a question out once for all who ask it, one question at a time,
// and keeps those that were asked last. Q is a question with all that its answer rests on.
type keeper[Q comparable, A any] struct {
	most int // how many are kept
	turn chan struct{}

	mu sync.Mutex
	of []*answer[Q, A] // the last that was asked for comes first
}

// answer is one that is there or under way.
type answer[Q comparable, A any] struct {
	to   Q
	done chan struct{} // closed when it is there
	// waiting is how many wait for it. Where nobody does any more, its work is stopped.
	waiting int
	stop    context.CancelFunc
	is      A
	err     error
}

func newKeeper[Q comparable, A any](most int) *keeper[Q, A] {
	return &keeper[Q, A]{most: most, turn: make(chan struct{}, 1)}
}

// have is the answer, where it is there.
func (k *keeper[Q, A]) have(q Q) (is A, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if a := k.find(q); a != nil && a.over() {
		return a.is, true
	}
	return is, false
}

// ask is the answer, by work unless somebody asked before. Work says whether what it came to
// may be kept. It ends with an error when the last who waits for it gives up.
func (k *keeper[Q, A]) ask(ctx context.Context, q Q, work func(context.Context) (A, bool, error)) (A, error) {
	k.mu.Lock()
	a := k.find(q)
	if a == nil {
		a = k.begin(ctx, q, work)
	}
	a.waiting++
	k.mu.Unlock()
	select {
	case <-a.done:
		return a.is, a.err
	case <-ctx.Done():
		k.leave(a)
		var none A
		return none, ctx.Err()
	}
}

// find is what is kept or under way. The caller holds the lock.
func (k *keeper[Q, A]) find(q Q) *answer[Q, A] {
	i := slices.IndexFunc(k.of, func(a *answer[Q, A]) bool { return a.to == q })
	if i < 0 {
		return nil
	}
	a := k.of[i]
	k.of = slices.Insert(slices.Delete(k.of, i, i+1), 0, a)
	return a
}

func (a *answer[Q, A]) over() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// begin starts the work, which whoever asked first does not take with him when he leaves.
// The caller holds the lock.
func (k *keeper[Q, A]) begin(ctx context.Context, q Q, work func(context.Context) (A, bool, error)) *answer[Q, A] {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	a := &answer[Q, A]{to: q, done: make(chan struct{}), stop: stop}
	k.of = slices.Insert(k.of, 0, a)
	k.shrink()
	go func() {
		defer stop()
		defer close(a.done)
		keep := false
		select {
		case k.turn <- struct{}{}:
			a.is, keep, a.err = work(ctx)
			<-k.turn
		case <-ctx.Done():
			a.err = ctx.Err()
		}
		if !keep || a.err != nil {
			k.forget(a)
		}
	}()
	return a
}

// shrink forgets what is there and was asked for longest ago. The caller holds the lock.
func (k *keeper[Q, A]) shrink() {
	for i := len(k.of) - 1; i > 0 && len(k.of) > k.most; i-- {
		if k.of[i].over() {
			k.of = slices.Delete(k.of, i, i+1)
		}
	}
}

func (k *keeper[Q, A]) forget(a *answer[Q, A]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.of = slices.DeleteFunc(k.of, func(o *answer[Q, A]) bool { return o == a })
}

// leave waits for an answer no more. The last one to leave stops the work and waits until it
// has stopped: nothing is read for nobody, nor after the store was closed.
func (k *keeper[Q, A]) leave(a *answer[Q, A]) {
	k.mu.Lock()
	a.waiting--
	last := a.waiting == 0 && !a.over()
	if last {
		k.of = slices.DeleteFunc(k.of, func(o *answer[Q, A]) bool { return o == a })
	}
	k.mu.Unlock()
	if last {
		a.stop()
		<-a.done
	}
}

// basis is all that what is advised for a day rests on, but what people said: equal ones
// have equal answers.
type basis struct {
	toMS  int64
	stamp uint64
	rules string
}

// basisOf is what a day's answers rest on now, with the rules in force then. known is false
// where nobody tells the revision of the rules: such answers are not kept.
func (s *Service) basisOf(ctx context.Context, to time.Time) (b basis, rules RuleSet, known bool, err error) {
	b = basis{toMS: to.UnixMilli(), stamp: s.store.Stamp(to.AddDate(0, 0, -windowDays), to)}
	if s.rules == nil {
		return b, rules, true, nil
	}
	rules, err = s.rules(ctx, to.Add(-time.Hour))
	b.rules = rules.Revision
	return b, rules, rules.Revision != "", err
}
