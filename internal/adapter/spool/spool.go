// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// Options are the limits of a spool. Zero values take the defaults.
type Options struct {
	// MaxBytes is what the segments may take together (512 MiB). The newest
	// segment always stays, so a batch larger than this still fits.
	MaxBytes int64
	// SegmentBytes is the size at which a new segment is begun (MaxBytes/16,
	// at most 64 MiB).
	SegmentBytes int64
	// PendingBytes is what may wait in memory while the disk takes nothing
	// (8 MiB).
	PendingBytes int64

	disk disk // the file system; tests put a full one here
}

func (o Options) withDefaults() Options {
	if o.MaxBytes <= 0 {
		o.MaxBytes = 512 << 20
	}
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = min(max(o.MaxBytes/16, 4<<10), 64<<20)
	}
	if o.PendingBytes <= 0 {
		o.PendingBytes = 8 << 20
	}
	if o.disk == nil {
		o.disk = realDisk{}
	}
	return o
}

// Spool is the writer's end. Its methods may be called concurrently.
type Spool struct {
	dir  string
	opt  Options
	lock *os.File
	id   identity
	boot string

	mu       sync.Mutex
	seq      uint64
	segments []segment // oldest first; the last is the active one
	active   file
	ack      Position
	state    state
	queue    queue
	stats    Status
}

// Open takes the spool in dir for writing, making it if need be. The torn end
// of an interrupted write is cut off. Problems found are returned beside the
// spool; they are for the log.
func Open(dir string, opt Options) (*Spool, []*Problem, error) {
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return nil, nil, fmt.Errorf("open spool: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open spool: %w", err)
	}
	s := &Spool{dir: dir, opt: opt.withDefaults(), lock: lock, boot: randomID(8)}
	problems, err := s.recover()
	if err != nil {
		return nil, problems, fmt.Errorf("open spool %s: %w", dir, errors.Join(err, lock.Close()))
	}
	s.stats.Problems = len(problems)
	return s, problems, nil
}

// Agent is the installation's id, the same as long as the directory lives.
func (s *Spool) Agent() string { return s.id.Agent }

// Boot is the id of this opening.
func (s *Spool) Boot() string { return s.boot }

// LastEnd is where the last record on disk ends; false when there is none.
func (s *Spool) LastEnd() (time.Time, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.UnixMilli(s.state.LastEndMS).UTC(), s.state.LastEndMS != 0
}

// Append names the batch (agent, boot, next sequence number) and writes it.
// The spool owns the batch from here on: on an error it is kept in memory, and
// written by a later Append or Flush.
func (s *Spool) Append(b usage.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	b.Agent, b.Boot = s.id.Agent, s.boot
	frame, err := encodeBatch(b)
	if err != nil {
		return fmt.Errorf("append batch: %w", err)
	}
	s.queue.push(b, int64(len(frame)))
	err = s.flush()
	s.stats.Dropped += s.queue.shrink(s.opt.PendingBytes)
	return err
}

// Flush writes what waits in memory.
func (s *Spool) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.flush()
}

// flush writes the queue from its front until it is empty or a write fails.
func (s *Spool) flush() error {
	again := len(s.segments)
	for s.queue.len() > 0 {
		err := s.writeFront()
		if errors.Is(err, errAgain) && again > 0 {
			again--
			continue
		}
		if err != nil {
			s.stats.WriteErrors++
			s.stats.LastError = err.Error()
			return fmt.Errorf("write batch: %w", err)
		}
	}
	s.stats.LastError = ""
	return nil
}

// writeFront makes room for the oldest waiting batch, numbers it, and puts it
// on disk. The number comes last: making room may write gap records.
func (s *Spool) writeFront() error {
	if err := s.makeRoom(s.queue.items[0].bytes + frameHeader + numberBytes); err != nil {
		return err
	}
	b, n := s.queue.front()
	b.Agent, b.Boot, b.Seq = s.id.Agent, s.boot, s.seq+1
	if b.Gap != nil && b.Gap.Reason == ReasonPendingFull {
		b.Gap.Boot, b.Gap.FirstSeq, b.Gap.LastSeq = s.boot, b.Seq, s.seq+n
	}
	frame, err := encodeBatch(b)
	if err != nil {
		return err
	}
	err = s.writeFrame(frame)
	if isFull(err) && s.dropAcked() {
		err = s.writeFrame(frame)
	}
	if err != nil {
		return err
	}
	s.seq += n
	s.queue.pop()
	s.wrote(b)
	return nil
}

// numberBytes is what the sequence number may add to a batch's size.
const numberBytes = 20

// encodeBatch is the batch as a frame.
func encodeBatch(b usage.Batch) ([]byte, error) {
	payload, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	if len(payload) > maxPayload {
		return nil, fmt.Errorf("%d bytes are more than a record may have (%d)", len(payload), maxPayload)
	}
	return appendFrame(make([]byte, 0, frameHeader+len(payload)), payload), nil
}

func (s *Spool) wrote(b usage.Batch) {
	s.stats.Unacked++
	s.stats.LastWrite = time.Now()
	if end, ok := recordEnd(b); ok {
		s.state.LastEndMS = end
	}
}

// recordEnd is where the time that a batch covers ends. A gap for dropped
// batches speaks of the past and moves nothing.
func recordEnd(b usage.Batch) (int64, bool) {
	if b.Gap != nil && b.Gap.FirstSeq != 0 {
		return 0, false
	}
	return b.StartMS + b.DurationMS, true
}

// Close writes what waits, if the disk takes it, and releases the spool. What
// it could not write is lost, and said so in the error.
func (s *Spool) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lock == nil {
		return nil
	}
	err := s.flush()
	if n := s.queue.len(); n > 0 {
		err = fmt.Errorf("close spool: %d batches could not be written and are lost: %w", n, err)
	}
	err = errors.Join(err, saveJSON(s.dir, stateFile, s.state), s.closeActive(), s.lock.Close())
	s.lock = nil
	return err
}
