// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gputally/gputally/internal/core/usage"
)

// makeRoom begins a new segment when the active one is full enough, and drops
// the oldest segments while a frame of n bytes would go over the limit:
// acknowledged ones quietly, others against a gap record.
func (s *Spool) makeRoom(n int64) error {
	if s.active != nil {
		size := s.segments[len(s.segments)-1].size
		if size > segmentHeader && size+n > s.opt.SegmentBytes {
			if err := s.rotate(); err != nil {
				return err
			}
		}
	}
	if s.active == nil {
		n += segmentHeader
	}
	for s.stats.Bytes+n > s.opt.MaxBytes && len(s.segments) > 1 {
		if err := s.dropOldest(); err != nil {
			return err
		}
	}
	return nil
}

// rotate closes the active segment; the next write begins another.
func (s *Spool) rotate() error {
	if err := s.closeActive(); err != nil {
		return fmt.Errorf("close segment: %w", err)
	}
	return saveJSON(s.dir, stateFile, s.state)
}

// dropAcked removes acknowledged segments, oldest first, and reports whether
// any went. The newest segment stays.
func (s *Spool) dropAcked() (dropped bool) {
	for len(s.segments) > 1 && s.acked(s.segments[0]) {
		if s.removeOldest() != nil {
			return dropped
		}
		dropped = true
	}
	return dropped
}

func (s *Spool) acked(g segment) bool {
	return !s.ack.Before(Position{Segment: g.number, Offset: g.size})
}

// errAgain says that the queue changed while room was made: begin anew.
var errAgain = errors.New("the queue changed")

// dropOldest removes the oldest segment. For what was not acknowledged in it,
// gap records are written first: a crash in between leaves a gap that names
// batches that are still there, never a hole that nobody names. Only where the
// disk has no room for the gap does the segment go first; the gap then waits
// at the front of the queue, and errAgain is returned.
func (s *Spool) dropOldest() error {
	oldest := s.segments[0]
	if s.acked(oldest) {
		return s.removeOldest()
	}
	lost, err := s.lostIn(oldest)
	if err != nil {
		return fmt.Errorf("drop oldest segment: %w", err)
	}
	gapErr := s.writeGaps(&lost)
	if gapErr != nil && !isFull(gapErr) {
		return fmt.Errorf("drop oldest segment: %w", gapErr)
	}
	if err := s.removeOldest(); err != nil {
		return err
	}
	s.stats.Unacked -= lost.batches
	s.stats.Dropped += uint64(lost.batches)
	if gapErr != nil {
		s.queue.unshift(lost.gaps)
		return errAgain
	}
	return nil
}

func (s *Spool) removeOldest() error {
	oldest := s.segments[0]
	if err := s.opt.disk.remove(segmentPath(s.dir, oldest.number)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("drop oldest segment: %w", err)
	}
	s.segments = s.segments[1:]
	s.stats.Bytes -= oldest.size
	return nil
}

// losses are the gaps that stand for the unacknowledged batches of a segment.
type losses struct {
	gaps    []usage.Batch
	batches int
	most    int // gaps at most
}

// maxGaps bounds how many boots' gaps are carried along; beyond it the oldest
// are merged into one that names no boot.
const maxGaps = 32

// gapsAtMost is maxGaps, or fewer where the gaps would take more than half a
// segment: what is dropped must be larger than what is written for it.
func (o Options) gapsAtMost() int {
	return int(min(max(o.SegmentBytes/2/gapBytes, 1), maxGaps))
}

// lostIn reads what is lost with a segment. What cannot be read in it was
// reported when it was found; the numbers around it show the hole.
func (s *Spool) lostIn(g segment) (losses, error) {
	f, err := os.Open(segmentPath(s.dir, g.number))
	if err != nil {
		return losses{}, err
	}
	defer f.Close()
	from := int64(segmentHeader)
	if s.ack.Segment == g.number {
		from = max(from, s.ack.Offset)
	}
	l := losses{most: s.opt.gapsAtMost()}
	sc := scanner{r: f, limit: g.size, off: from}
	for {
		payload, err := sc.next()
		if errors.Is(err, io.EOF) {
			return l, nil
		}
		if err != nil && !isProblem(err) {
			return l, err
		}
		var b usage.Batch
		if err == nil && json.Unmarshal(payload, &b) == nil {
			l.add(b)
		}
	}
}

// add names a lost batch. A lost gap record also hands on what it names: that
// would be forgotten for good otherwise.
func (l *losses) add(b usage.Batch) {
	l.batches++
	own := usage.Gap{Span: usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS},
		Boot: b.Boot, FirstSeq: b.Seq, LastSeq: b.Seq}
	if g := b.Gap; g != nil && g.FirstSeq != 0 {
		l.name(b, *g)
		own.Span = g.Span
	}
	l.name(b, own)
	for len(l.gaps) > l.most { // one batch may bring two
		extend(&l.gaps[0], l.gaps[1].Gap)
		l.gaps[0].ProviderID = cmp.Or(l.gaps[0].ProviderID, l.gaps[1].ProviderID)
		first := l.gaps[0].Gap
		first.Boot, first.FirstSeq, first.LastSeq = "", 0, 0
		l.gaps = append(l.gaps[:1], l.gaps[2:]...)
	}
}

// name puts a lost range into the gap of its boot. Numbers between two ranges
// of one boot are named too: a gap says what may be missing.
func (l *losses) name(b usage.Batch, g usage.Gap) {
	for i := range l.gaps {
		if l.gaps[i].Gap.Boot == g.Boot {
			extend(&l.gaps[i], &g)
			l.gaps[i].ProviderID = cmp.Or(l.gaps[i].ProviderID, b.ProviderID) // known late
			return
		}
	}
	g.Reason = ReasonSpoolFull
	l.gaps = append(l.gaps, usage.Batch{Version: b.Version, Cluster: b.Cluster, Node: b.Node, ProviderID: b.ProviderID,
		StartMS: g.StartMS, DurationMS: g.DurationMS, IntervalMS: b.IntervalMS, Gap: &g})
}

func extend(b *usage.Batch, g *usage.Gap) {
	end := max(b.Gap.StartMS+b.Gap.DurationMS, g.StartMS+g.DurationMS)
	b.Gap.StartMS = min(b.Gap.StartMS, g.StartMS)
	b.Gap.DurationMS = end - b.Gap.StartMS
	b.Gap.FirstSeq, b.Gap.LastSeq = min(b.Gap.FirstSeq, g.FirstSeq), max(b.Gap.LastSeq, g.LastSeq)
	b.StartMS, b.DurationMS = b.Gap.StartMS, b.Gap.DurationMS
}

// writeGaps puts gap records at the end of the queue on disk, and takes those
// that were written out of l.
func (s *Spool) writeGaps(l *losses) error {
	for len(l.gaps) > 0 {
		b := l.gaps[0]
		b.Agent, b.Boot, b.Seq = s.id.Agent, s.boot, s.seq+1
		frame, err := encodeBatch(b)
		if err != nil {
			return err
		}
		if err := s.writeFrame(frame); err != nil {
			return err
		}
		s.seq++
		s.wrote(b)
		l.gaps = l.gaps[1:]
	}
	return nil
}
