// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/gputally/gputally/internal/core/usage"
)

// recover brings the spool to a state that can be written to: state files
// read, the newest segment's torn end cut off, sizes and counts taken.
func (s *Spool) recover() (problems []*Problem, err error) {
	if s.id, problems, err = loadIdentity(s.dir); err != nil {
		return problems, err
	}
	if problems, err = note(problems, loadJSON(s.dir, stateFile, &s.state)); err != nil {
		return problems, err
	}
	if problems, err = note(problems, loadJSON(s.dir, ackFile, &s.ack)); err != nil {
		return problems, err
	}
	if s.segments, err = listSegments(s.dir); err != nil {
		return problems, err
	}
	found, err := s.openNewest()
	problems = append(problems, found...)
	if err != nil {
		return problems, err
	}
	if err := s.findLastEnd(); err != nil {
		return problems, err
	}
	return problems, s.measure()
}

// note keeps a *Problem and passes any other error on.
func note(list []*Problem, err error) ([]*Problem, error) {
	var p *Problem
	if errors.As(err, &p) {
		return append(list, p), nil
	}
	return list, err
}

func (g segment) end() Position { return Position{Segment: g.number, Offset: g.size} }

// openNewest opens the newest segment to go on writing, and cuts off its torn
// end. It returns what is wrong in that segment; the older ones are looked at
// when they are read.
func (s *Spool) openNewest() ([]*Problem, error) {
	if len(s.segments) == 0 {
		return nil, nil
	}
	last := &s.segments[len(s.segments)-1]
	path := segmentPath(s.dir, last.number)
	problems, whole, err := examine(path, *last)
	if err != nil {
		return problems, err
	}
	if s.active, err = s.opt.disk.openSegment(path); err != nil {
		return problems, fmt.Errorf("open segment: %w", err)
	}
	if whole == last.size && whole >= segmentHeader {
		return problems, nil
	}
	problems[len(problems)-1].Detail += "; cut off"
	if err := s.cut(last, whole); err != nil {
		return problems, fmt.Errorf("cut off torn end of %s: %w", path, err)
	}
	return problems, nil
}

// cut shortens the active segment to whole bytes, its header rewritten where
// not even that was whole.
func (s *Spool) cut(last *segment, whole int64) error {
	if whole < segmentHeader {
		if _, err := s.active.WriteAt(encodeHeader(last.number), 0); err != nil {
			return err
		}
		whole = segmentHeader
	}
	if err := errors.Join(s.active.Truncate(whole), s.active.Sync()); err != nil {
		return err
	}
	last.size = whole
	if last.end().Before(s.ack) && s.ack.Segment == last.number {
		s.ack = last.end()
		return saveJSON(s.dir, ackFile, s.ack)
	}
	return nil
}

// examine walks a segment: what is wrong with it, and where its last whole
// record ends. A torn tail is the last of the problems.
func examine(path string, g segment) (problems []*Problem, whole int64, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, fmt.Errorf("open segment: %w", err)
	}
	defer f.Close()
	if problems, err = note(nil, checkHeader(f, g.number)); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	sc := scanner{r: f, limit: g.size, off: segmentHeader}
	for err == nil || isProblem(err) {
		whole = sc.off
		_, err = sc.next()
		if problems, err = note(problems, err); len(problems) > 0 {
			problems[len(problems)-1].File = path
			if problems[len(problems)-1].Kind == TornTail {
				return problems, whole, nil
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return problems, 0, err
	}
	if len(problems) == 1 && g.size <= segmentHeader {
		whole = 0
	}
	return problems, whole, nil
}

// findLastEnd takes the end of the newest record that can be read; only where
// the segments hold none does the state file's word stand.
func (s *Spool) findLastEnd() error {
	for i := len(s.segments) - 1; i >= 0; i-- {
		end, ok, err := s.lastEndIn(s.segments[i])
		if err != nil {
			return err
		}
		if ok {
			s.state.LastEndMS = end
			return nil
		}
	}
	return nil
}

func (s *Spool) lastEndIn(g segment) (end int64, found bool, err error) {
	f, err := os.Open(segmentPath(s.dir, g.number))
	if err != nil {
		return 0, false, fmt.Errorf("open segment: %w", err)
	}
	defer f.Close()
	sc := scanner{r: f, limit: g.size, off: segmentHeader}
	for {
		payload, err := sc.next()
		if errors.Is(err, io.EOF) {
			return end, found, nil
		}
		if err != nil && !isProblem(err) {
			return 0, false, err
		}
		var b usage.Batch
		if err == nil && json.Unmarshal(payload, &b) == nil {
			if e, ok := recordEnd(b); ok {
				end, found = e, true
			}
		}
	}
}

// measure takes the sizes of the segments and counts what is not acknowledged.
func (s *Spool) measure() error {
	for _, g := range s.segments {
		s.stats.Bytes += g.size
	}
	n, err := s.countBetween(s.ack, Position{Segment: math.MaxUint64})
	s.stats.Unacked = n
	return err
}

// countBetween counts the records in [from, to).
func (s *Spool) countBetween(from, to Position) (n int, err error) {
	for _, g := range s.segments {
		begin, end := int64(segmentHeader), g.size
		if g.number == from.Segment {
			begin = max(begin, from.Offset)
		}
		if g.number == to.Segment {
			end = min(end, to.Offset)
		}
		if g.number < from.Segment || g.number > to.Segment || begin >= end {
			continue
		}
		m, err := countIn(segmentPath(s.dir, g.number), begin, end)
		if err != nil {
			return n, fmt.Errorf("count records: %w", err)
		}
		n += m
	}
	return n, nil
}

func countIn(path string, begin, end int64) (int, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	sc := scanner{r: f, limit: end, off: begin}
	n, err := sc.count()
	return n, errors.Join(err, f.Close())
}
