// SPDX-License-Identifier: Apache-2.0

package nvml

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// Options say how to reach the library. The zero value is good for a node.
type Options struct {
	// LibraryPath is libnvidia-ml.so.1; empty: DefaultLibraries are tried.
	LibraryPath string
	// Node names devices that have no UUID, as "node/index". Default "node".
	Node string
	// Deadline is how long to wait for the library, and again for the
	// devices, in one Sample. Default 2 s.
	Deadline time.Duration
	// RetryMin and RetryMax bound the pauses between attempts to load the
	// library, which double. Defaults 1 s and 1 min.
	RetryMin, RetryMax time.Duration
	// LostProbe is how often a lost device is asked again. Default 1 min.
	LostProbe time.Duration
	// Instances says since when MIG instances were there, as Instances of an
	// earlier process told, in Unix milliseconds.
	Instances map[gpu.UUID]int64
	// MeminfoPath is where host memory is read for devices that have no
	// memory of their own. Default /proc/meminfo.
	MeminfoPath string
	// Log hears what no Sample can tell. Default: nobody.
	Log *slog.Logger
	// Clock is the wall clock. Default time.Now.
	Clock func() time.Time
}

func (o *Options) fill() {
	o.Deadline = orDefault(o.Deadline, 2*time.Second)
	o.RetryMin = orDefault(o.RetryMin, time.Second)
	o.RetryMax = max(orDefault(o.RetryMax, time.Minute), o.RetryMin)
	o.LostProbe = orDefault(o.LostProbe, time.Minute)
	o.Node = orDefault(o.Node, "node")
	o.MeminfoPath = orDefault(o.MeminfoPath, "/proc/meminfo")
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
}

func orDefault[T comparable](v, otherwise T) T {
	var zero T
	if v == zero {
		return otherwise
	}
	return v
}

// ErrClosed is the error of a Sample after Close.
var ErrClosed = errors.New("sample NVML: the source is closed")

// Source reads the GPUs of this node through NVML. One process should have one
// Source: the binding keeps its state in global variables.
type Source struct {
	opts     Options
	settings settings

	mu      sync.Mutex // held by Sample
	closed  bool
	devices map[gpu.UUID]*device
	count   int // devices in the last list
	stable  int // how many lists had that count, in a row
	renamed bool
	library librarian

	// instances and restart are published by Sample for other goroutines.
	shared struct {
		sync.Mutex
		instances map[gpu.UUID]int64
		restart   bool
	}
}

// Open returns a Source. It touches nothing yet: the library is loaded by the
// first Sample, and a node without a driver is not an error.
func Open(opts Options) *Source {
	opts.fill()
	s := &Source{opts: opts, devices: map[gpu.UUID]*device{}}
	s.settings = settings{meminfo: opts.MeminfoPath, instances: maps.Clone(opts.Instances), log: opts.Log}
	s.library = newLibrarian(&s.opts)
	s.shared.instances = maps.Clone(opts.Instances)
	return s
}

// Sample reads the library and all devices, in the order of their indexes.
//
// A library that cannot be used and devices that cannot be read are answers,
// not errors: Library.OK is false, or Device.State says what is the matter. It
// is true with an Error where devices were read although the library as a
// whole did not answer. The only errors are ErrClosed and ctx's.
//
// It takes at most two deadlines, and one more where the library has to be
// loaded; a call that is known to be stuck is not waited for again. Only one
// Sample runs at a time.
func (s *Source) Sample(ctx context.Context) (sample.Library, []sample.Device, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return sample.Library{}, nil, ErrClosed
	}
	now := s.opts.Clock()
	lib, walk := s.library.refresh(ctx, now, s.known(now))
	s.renamed = false
	if walk != nil {
		s.apply(*walk, lib, now)
		s.announce()
	}
	if lib != nil {
		s.read(ctx, lib, now)
	}
	s.publish()
	return s.library.describe(), s.report(), ctx.Err()
}

// announce tells every device that the driver was reloaded, once.
func (s *Source) announce() {
	if s.library.news == "" {
		return
	}
	for _, d := range s.devices {
		d.events = append(d.events, sample.Event{Kind: eventDriverReload, Detail: s.library.news})
	}
	s.library.news = ""
}

// Instances says since when each MIG instance has been there, in Unix
// milliseconds, by the UUIDs of its MIG devices. Keep it and give it to the
// next process as Options.Instances: NVML does not know.
func (s *Source) Instances() map[gpu.UUID]int64 {
	s.shared.Lock()
	defer s.shared.Unlock()
	return maps.Clone(s.shared.instances)
}

// RestartNeeded reports that only a new process can use the driver again: the
// library was replaced on disk after this process had loaded it, or a call
// that will not return keeps it from being loaded again.
func (s *Source) RestartNeeded() bool {
	s.shared.Lock()
	defer s.shared.Unlock()
	return s.shared.restart
}

// Close shuts the library down, unless a call is stuck in it, and waits for
// that no longer than the deadline.
func (s *Source) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	stuck := false
	for _, d := range s.devices {
		stuck = stuck || !d.worker.idle()
		d.worker.stop()
	}
	s.library.close(stuck)
}

// publish makes what other goroutines may ask for consistent with this sample.
func (s *Source) publish() {
	s.shared.Lock()
	defer s.shared.Unlock()
	s.shared.restart = s.library.restart
	fresh := map[gpu.UUID]int64{}
	for _, d := range s.devices {
		if d.last == nil {
			// Not every device was read yet: what was known before stands.
			maps.Copy(fresh, s.settings.instances)
		}
	}
	if len(s.devices) == 0 {
		maps.Copy(fresh, s.settings.instances)
	}
	for _, d := range s.devices {
		d.instances(fresh)
	}
	s.shared.instances = fresh
}
