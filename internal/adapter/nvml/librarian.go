// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"fmt"
	"time"

	binding "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/internal/core/sample"
)

// librarian keeps the library loaded: it loads it, loads it again after the
// driver was reloaded, and lists its devices. It owns the one goroutine that
// talks to the library as a whole.
type librarian struct {
	opts   *Options
	worker *worker
	// loading and walking are the answers of the job under way, if any.
	loading *loaded
	walking *listing
	await   bool // the answer was not yet taken
	gaveUp  bool // nobody waits for it any more

	lib    *library // nil: not loaded
	old    *library // to be closed before the next is loaded
	driver string   // the last driver version seen
	text   string   // what is wrong, empty if nothing
	// reloading: the library was given up because the driver was reloaded.
	reloading bool
	reloads   int
	news      string // a reload in words, for the next reading of each device

	retryAt    time.Time
	pause      time.Duration
	mismatches int
	restart    bool
}

func newLibrarian(opts *Options) librarian {
	return librarian{opts: opts, worker: newWorker()}
}

// known is what the listing of devices may rely on.
type known struct {
	skip  []bool // per index: do not ask
	stuck bool   // some device's call has not come back
	// renamed: a handle turned out to name another device than it did.
	renamed bool
}

// refresh returns the library, nil if it cannot be used now, and a new list of
// its devices, nil if there is none.
func (l *librarian) refresh(ctx context.Context, now time.Time, k known) (*library, *listing) {
	if !l.settle(ctx) {
		return l.lib, nil
	}
	if walk := l.take(now); walk != nil {
		return l.lib, walk // late, but it is an answer
	}
	if l.lib == nil {
		l.load(ctx, now, k.stuck)
	}
	if l.lib == nil || !l.worker.idle() {
		return l.lib, nil
	}
	lib, walk := l.lib, new(listing)
	l.walking, l.await = walk, true
	c := &l.worker.calls
	l.worker.start(lib.symbols, func() { *walk = lib.list(c, k.skip, k.renamed) })
	if !l.settle(ctx) {
		return l.lib, nil
	}
	return l.lib, l.take(now)
}

// settle waits for the job under way and reports whether it has ended. A job
// that was already given up is not waited for again.
func (l *librarian) settle(ctx context.Context) bool {
	if l.worker.idle() {
		return true
	}
	if l.gaveUp {
		l.text = l.worker.overdue(l.opts.Deadline)
		return false
	}
	timer := time.NewTimer(l.opts.Deadline)
	defer timer.Stop()
	select {
	case <-l.worker.job.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
		return false
	}
	l.gaveUp = true
	l.worker.quit.Store(l.walking != nil) // a library that comes late is welcome
	l.text = l.worker.overdue(l.opts.Deadline)
	return false
}

// take takes over the answer of the last job, once.
func (l *librarian) take(now time.Time) *listing {
	if !l.await {
		return nil
	}
	l.await, l.gaveUp = false, false
	loading, walking := l.loading, l.walking
	l.loading, l.walking = nil, nil
	switch {
	case loading != nil:
		l.takeLibrary(*loading, now)
	case walking != nil && l.worker.quit.Load():
		// It was given up: its later entries were never asked for.
		return nil
	case walking != nil && walking.failed():
		l.text = failure(walking.call, walking.ret)
		if endsLibrary(walking.ret) {
			l.drop(walking.ret, l.text)
		}
	case walking != nil:
		l.text, l.lib.listed = "", true
		return walking
	}
	return nil
}

// load starts an attempt to load the library, if it is time for one.
func (l *librarian) load(ctx context.Context, now time.Time, stuck bool) {
	if now.Before(l.retryAt) {
		return
	}
	if stuck {
		// Closing the library under a thread that is inside it may crash.
		l.restart = true
		l.text = "load the NVIDIA management library again: a call into it has not come back; restart the agent"
		return
	}
	candidates := DefaultLibraries
	if l.opts.LibraryPath != "" {
		candidates = []string{l.opts.LibraryPath}
	}
	answer, old, c := new(loaded), l.old, &l.worker.calls
	l.old, l.loading, l.await = nil, answer, true
	l.worker.start(nil, func() { *answer = load(c, candidates, old) })
	if l.settle(ctx) {
		l.take(now)
	}
}

func (l *librarian) takeLibrary(answer loaded, now time.Time) {
	if answer.err != nil {
		l.text = answer.err.Error()
		l.pause = min(max(2*l.pause, l.opts.RetryMin), l.opts.RetryMax)
		l.retryAt = now.Add(l.pause)
		l.reloading = l.reloading || endsLibrary(answer.ret)
		if answer.ret == binding.ERROR_LIB_RM_VERSION_MISMATCH {
			l.mismatches++
		}
		// A mismatch that stays while the file on disk stays may be that of a
		// file mounted into this container: only a new container has the new.
		l.restart = answer.stale || l.mismatches >= 3
		return
	}
	l.lib, l.text, l.pause, l.mismatches, l.restart = answer.lib, "", 0, 0, false
	version := answer.lib.info.DriverVersion
	if l.driver != "" && (l.reloading || l.driver != version) {
		l.reloads++
		l.news = fmt.Sprintf("driver %s was loaded again", version)
		if l.driver != version {
			l.news = fmt.Sprintf("driver %s was replaced by %s", l.driver, version)
		}
	}
	l.driver, l.reloading, l.lib.reloads = version, false, l.reloads
}

// drop gives the library up; the next Sample loads it again.
func (l *librarian) drop(ret binding.Return, why string) {
	if l.lib == nil {
		return
	}
	l.old, l.lib, l.text = l.lib, nil, why
	l.reloading = l.reloading || ret != binding.ERROR_UNINITIALIZED
}

// describe is the state of the library for the sample.
func (l *librarian) describe() sample.Library {
	if l.lib == nil {
		return sample.Library{Error: l.text, DriverVersion: l.driver}
	}
	info := l.lib.info
	info.OK, info.Error = l.lib.listed, l.text
	return info
}

func (l *librarian) close(stuck bool) {
	defer l.worker.stop()
	lib := l.lib
	if lib == nil {
		lib = l.old
	}
	if lib == nil || stuck || !l.worker.idle() {
		return
	}
	c := &l.worker.calls
	l.worker.start(lib.symbols, func() { lib.close(c) })
	select {
	case <-l.worker.job.done:
	case <-time.After(l.opts.Deadline + eventWait):
	}
}
