// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"crypto/sha256"
	"sync"
	"time"
)

// key is the hash of a question. A token is never kept.
type key = [sha256.Size]byte

// answer is one answer to a question, and until when it holds.
type answer[V any] struct {
	value V
	good  bool // it lets somebody in
	until time.Time
}

// memory keeps answers for as long as they hold, and has each question asked once
// at a time. Refusals have a room of their own, so that a flood of wrong tokens
// drives out no right one.
type memory[V any] struct {
	now func() time.Time

	mu        sync.Mutex
	good, bad room[V]
	under     map[key]*question[V]
}

// question is one that is being asked.
type question[V any] struct {
	done   chan struct{}
	answer answer[V]
	err    error
}

// The rooms' sizes: more than there are nodes and people, and for refusals a few
// megabytes' worth at most.
const (
	maxGood = 8192
	maxBad  = 2048
)

func newMemory[V any](now func() time.Time) *memory[V] {
	return &memory[V]{now: now, good: room[V]{max: maxGood, kept: map[key]answer[V]{}}, bad: room[V]{max: maxBad, kept: map[key]answer[V]{}},
		under: map[key]*question[V]{}}
}

// get is the answer that is kept, or the one that ask gives. ask goes on when a
// caller gives up, for the others that wait for it. Its errors are not kept.
func (m *memory[V]) get(ctx context.Context, k key, ask func(context.Context) (answer[V], error)) (answer[V], error) {
	m.mu.Lock()
	now := m.now()
	for _, r := range []room[V]{m.good, m.bad} {
		if a, ok := r.kept[k]; ok && now.Before(a.until) {
			m.mu.Unlock()
			return a, nil
		}
	}
	q, asked := m.under[k]
	if !asked {
		q = &question[V]{done: make(chan struct{})}
		m.under[k] = q
		go m.ask(context.WithoutCancel(ctx), k, q, ask)
	}
	m.mu.Unlock()
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		return answer[V]{}, ctx.Err()
	}
}

func (m *memory[V]) ask(ctx context.Context, k key, q *question[V], ask func(context.Context) (answer[V], error)) {
	q.answer, q.err = ask(ctx)
	m.mu.Lock()
	delete(m.under, k)
	if q.err == nil {
		delete(m.good.kept, k)
		delete(m.bad.kept, k)
		r := m.bad
		if q.answer.good {
			r = m.good
		}
		r.put(k, q.answer, m.now())
	}
	m.mu.Unlock()
	close(q.done)
}

// room is a bounded number of answers.
type room[V any] struct {
	max  int
	kept map[key]answer[V]
}

// put keeps an answer that still holds. Where there is no room, those that hold no
// longer go, then the one that ends first.
func (r room[V]) put(k key, a answer[V], now time.Time) {
	if !now.Before(a.until) {
		return
	}
	if len(r.kept) >= r.max {
		var first key
		var ends time.Time
		for k, old := range r.kept {
			if !now.Before(old.until) {
				delete(r.kept, k)
			} else if ends.IsZero() || old.until.Before(ends) {
				first, ends = k, old.until
			}
		}
		if len(r.kept) >= r.max {
			delete(r.kept, first)
		}
	}
	r.kept[k] = a
}
