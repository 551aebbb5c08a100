// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"fmt"
	"sync/atomic"
	"time"
)

// worker is one goroutine that makes calls into the library. A call cannot be
// cancelled, so whoever wants an answer waits for it with a deadline and, when
// that passes, leaves the worker alone until it has come back.
//
// Only the Source touches job; calls is shared with the goroutine.
type worker struct {
	jobs chan func()
	job  *job // the last one started, nil before
	calls
}

// job is one piece of work; done is closed when it has ended.
type job struct{ done chan struct{} }

// calls says what a worker is doing at the moment.
type calls struct {
	symbols atomic.Pointer[symbolTable]
	call    atomic.Uint32 // symbol
	since   atomic.Int64  // when the call began, nanoseconds since started
	quit    atomic.Bool   // nobody waits for the job's answer any more
}

// started is a fixed point on the monotonic clock.
var started = time.Now()

func newWorker() *worker {
	w := &worker{jobs: make(chan func(), 1)}
	go func() {
		for f := range w.jobs {
			f()
		}
	}()
	return w
}

// idle reports whether the last job has ended.
func (w *worker) idle() bool {
	if w.job == nil {
		return true
	}
	select {
	case <-w.job.done:
		return true
	default:
		return false
	}
}

// start begins a job. The worker must be idle.
func (w *worker) start(t *symbolTable, f func()) {
	j := &job{done: make(chan struct{})}
	w.job = j
	w.symbols.Store(t)
	w.quit.Store(false)
	w.jobs <- func() {
		defer close(j.done)
		defer w.end()
		f()
	}
}

// stop ends the goroutine, after its job if it has one.
func (w *worker) stop() {
	w.quit.Store(true)
	close(w.jobs)
}

// begin notes that a call is about to be made and reports whether it may be.
func (c *calls) begin(s symbol) bool {
	if c.quit.Load() || !c.symbols.Load().has(s) {
		return false
	}
	c.since.Store(int64(time.Since(started)))
	c.call.Store(uint32(s))
	return true
}

func (c *calls) end() { c.call.Store(uint32(symNone)) }

// overdue says in words why a job did not end within the deadline. It does not
// change while the same call is stuck.
func (c *calls) overdue(deadline time.Duration) string {
	s := symbol(c.call.Load())
	name := c.symbols.Load().name(s)
	took := time.Since(started) - time.Duration(c.since.Load())
	if s != symNone && took*2 > deadline {
		return fmt.Sprintf("%s did not return within %v", name, deadline)
	}
	return fmt.Sprintf("reading took longer than %v in all, the last call being %s", deadline, name)
}
