// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/gputally/gputally/internal/core/usage"
)

// Position is a place between two records. The zero value is the beginning.
type Position struct {
	Segment uint64 `json:"segment"`
	Offset  int64  `json:"offset"`
}

// Before reports whether p lies before q.
func (p Position) Before(q Position) bool {
	if p.Segment != q.Segment {
		return p.Segment < q.Segment
	}
	return p.Offset < q.Offset
}

// Entry is one record: the batch, its bytes as stored, where it begins and
// where the next one does. Ack(Next) acknowledges it and all before it.
type Entry struct {
	Batch   usage.Batch
	Payload []byte
	Start   Position
	Next    Position
}

// Reader walks the records of a spool in the order they were written. It may
// be used while another process writes. It is not safe for concurrent use.
type Reader struct {
	dir string
	pos Position
	// committed, when set, says how far a segment may be read: the writer
	// knows; without it the file's size counts.
	committed func(number uint64) (int64, bool)

	file *os.File
	open uint64
}

// NewReader reads the spool in dir from a position on, without a lock.
func NewReader(dir string, from Position) *Reader { return &Reader{dir: dir, pos: from} }

// Close releases the open segment.
func (r *Reader) Close() error {
	if r.file == nil {
		return nil
	}
	err := r.file.Close()
	r.file = nil
	return err
}

// Next returns the next record. At the end it returns io.EOF, and may be
// called again when more was written. A stretch that cannot be read is
// returned once, as a *Problem; the next call goes on behind it.
func (r *Reader) Next() (Entry, error) {
	for {
		segments, err := listSegments(r.dir)
		if err != nil {
			return Entry{}, err
		}
		at, problem := r.settle(segments)
		if problem != nil {
			return Entry{}, problem
		}
		if at < 0 {
			return Entry{}, io.EOF
		}
		e, err := r.read(segments[at], at == len(segments)-1)
		if !errors.Is(err, io.EOF) {
			return e, err
		}
		if at == len(segments)-1 {
			return Entry{}, io.EOF
		}
		if r.pos, err = r.step(segments[at], segments[at+1]); err != nil {
			return Entry{}, err
		}
	}
}

// settle finds the segment of the position among those there are. Where it was
// dropped the position moves to the oldest that is left, with a Problem.
func (r *Reader) settle(segments []segment) (int, error) {
	for i, s := range segments {
		if s.number == r.pos.Segment {
			return i, nil
		}
		if s.number > r.pos.Segment {
			was := r.pos
			r.pos = Position{Segment: s.number}
			if was == (Position{}) {
				return i, nil
			}
			return i, &Problem{Kind: Missing, File: segmentPath(r.dir, was.Segment), Offset: was.Offset,
				Detail: fmt.Sprintf("the segment is gone; reading goes on at segment %d", s.number)}
		}
	}
	return -1, nil
}

// step moves from a segment that was read to its end to the next one.
func (r *Reader) step(from, to segment) (Position, error) {
	next := Position{Segment: to.number}
	if to.number == from.number+1 {
		return next, nil
	}
	r.pos = next
	return next, &Problem{Kind: Missing, File: segmentPath(r.dir, from.number+1),
		Detail: fmt.Sprintf("segments %d to %d are not there", from.number+1, to.number-1)}
}

// read returns the record at the position, which lies in segment s. last says
// that no segment follows s: what is torn there may yet become whole.
func (r *Reader) read(s segment, last bool) (Entry, error) {
	if err := r.openSegment(s.number); err != nil {
		return Entry{}, err
	}
	limit := s.size
	if r.committed != nil {
		if n, ok := r.committed(s.number); ok {
			limit, last = n, false
		}
	}
	if r.pos.Offset == 0 && limit > 0 {
		if last && limit < segmentHeader {
			return Entry{}, io.EOF
		}
		r.pos.Offset = segmentHeader
		if err := checkHeader(r.file, s.number); err != nil {
			return Entry{}, r.locate(err)
		}
	}
	return r.frame(limit, last)
}

func (r *Reader) frame(limit int64, last bool) (Entry, error) {
	sc := scanner{r: r.file, limit: limit, off: r.pos.Offset}
	start := r.pos
	payload, err := sc.next()
	var p *Problem
	if errors.As(err, &p) && p.Kind == TornTail && last {
		return Entry{}, io.EOF
	}
	r.pos.Offset = sc.off
	if err != nil {
		return Entry{}, r.locate(err)
	}
	e := Entry{Payload: payload, Start: start, Next: r.pos}
	if err := json.Unmarshal(payload, &e.Batch); err != nil {
		return Entry{}, r.locate(&Problem{Kind: BadPayload, Offset: start.Offset,
			Length: r.pos.Offset - start.Offset, Detail: err.Error()})
	}
	return e, nil
}

// locate puts the file's name into a problem, and turns the torn end of a
// segment that others follow into what it is: damage.
func (r *Reader) locate(err error) error {
	var p *Problem
	if !errors.As(err, &p) {
		if errors.Is(err, io.EOF) {
			return io.EOF
		}
		return fmt.Errorf("read spool segment %d: %w", r.pos.Segment, err)
	}
	p.File = segmentPath(r.dir, r.pos.Segment)
	if p.Kind == TornTail {
		p.Kind = Corrupt
	}
	return p
}

func (r *Reader) openSegment(number uint64) error {
	if r.file != nil && r.open == number {
		return nil
	}
	if err := r.Close(); err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	f, err := os.Open(segmentPath(r.dir, number))
	if err != nil {
		return fmt.Errorf("read spool: %w", err)
	}
	r.file, r.open = f, number
	return nil
}
