// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/sample"
)

// probe reads one source with a deadline. A read that does not return in time
// is left behind, and as long as it has not returned no other is begun: a
// hung source costs one goroutine, not one per sample.
type probe[T any] struct {
	deadline time.Duration
	read     func(ctx context.Context) (T, error)

	busy  chan answer[T] // nil when no read is under way
	since time.Time
	quit  context.CancelFunc
}

type answer[T any] struct {
	value T
	err   error
}

func newProbe[T any](deadline time.Duration, read func(context.Context) (T, error)) *probe[T] {
	return &probe[T]{deadline: deadline, read: read}
}

// take reads the source now. ok is false when there is no value: the deadline
// passed, or a read begun earlier is still stuck. A value beside an error is
// what the source gave with it.
func (p *probe[T]) take(ctx context.Context) (value T, ok bool, status sample.SourceStatus) {
	began := time.Now()
	if p.stuck() {
		return value, false, failed(began, fmt.Errorf("still waiting for a read begun %s ago",
			time.Since(p.since).Round(time.Second)))
	}
	p.begin(ctx)
	timer := time.NewTimer(p.deadline)
	defer timer.Stop()
	select {
	case a := <-p.busy:
		p.done()
		if a.err != nil {
			return a.value, true, failed(began, a.err)
		}
		return a.value, true, sample.SourceStatus{OK: true, DurationUS: time.Since(began).Microseconds()}
	case <-timer.C:
		p.quit()
		return value, false, failed(began, fmt.Errorf("no answer within %s", p.deadline))
	case <-ctx.Done():
		p.quit()
		return value, false, failed(began, ctx.Err())
	}
}

func (p *probe[T]) begin(ctx context.Context) {
	ctx, p.quit = context.WithCancel(ctx)
	busy := make(chan answer[T], 1)
	p.busy, p.since = busy, time.Now()
	go func() {
		v, err := p.read(ctx)
		busy <- answer[T]{v, err}
	}()
}

// stuck reports whether an earlier read is still under way. The answer of one
// that came too late is dropped: it speaks of another moment.
func (p *probe[T]) stuck() bool {
	if p.busy == nil {
		return false
	}
	select {
	case <-p.busy:
		p.done()
		return false
	default:
		return true
	}
}

func (p *probe[T]) done() {
	p.quit()
	p.busy = nil
}

func failed(began time.Time, err error) sample.SourceStatus {
	return sample.SourceStatus{Error: err.Error(), DurationUS: time.Since(began).Microseconds()}
}
