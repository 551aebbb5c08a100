// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
	"io"
)

// Summary is what one segment holds.
type Summary struct {
	File    string `json:"file"`
	Segment uint64 `json:"segment"`
	Bytes   int64  `json:"bytes"`
	Records int    `json:"records"`
	// StartMS and EndMS are the time the records cover, Unix milliseconds.
	StartMS int64 `json:"start_ms"`
	EndMS   int64 `json:"end_ms"`
	// First and Last name the outer records, "boot/seq".
	First string `json:"first,omitempty"`
	Last  string `json:"last,omitempty"`
	Gaps  int    `json:"gaps"`
	Acked bool   `json:"acked"`
}

// Report is the result of reading a whole spool.
type Report struct {
	Dir      string     `json:"dir"`
	Segments []Summary  `json:"segments"`
	Records  int        `json:"records"`
	Problems []*Problem `json:"problems"`
	// Duplicates are batches found twice ("boot/seq"), Holes numbers that no
	// record has and no gap names ("boot/first-last").
	Duplicates []string `json:"duplicates"`
	Holes      []string `json:"holes"`
}

// OK reports whether nothing is wrong.
func (r Report) OK() bool {
	return len(r.Problems) == 0 && len(r.Duplicates) == 0 && len(r.Holes) == 0
}

// Verify reads every record of the spool in dir, without a lock. visit, which
// may be nil, sees each record in order; its error ends the reading.
func Verify(dir string, visit func(Entry) error) (Report, error) {
	rep := Report{Dir: dir, Segments: []Summary{}, Problems: []*Problem{}, Duplicates: []string{}, Holes: []string{}}
	segments, err := listSegments(dir)
	if err != nil {
		return rep, err
	}
	ack, err := peekAck(dir)
	if err != nil {
		return rep, err
	}
	seen := newLedger()
	r := NewReader(dir, Position{})
	defer r.Close()
	sums := map[uint64]*Summary{}
	for i, g := range segments {
		rep.Segments = append(rep.Segments, Summary{File: segmentName(g.number), Segment: g.number,
			Bytes: g.size, Acked: !ack.Before(g.end())})
		sums[g.number] = &rep.Segments[i]
	}
	for {
		e, err := r.Next()
		var p *Problem
		switch {
		case errors.Is(err, io.EOF):
			return seen.finish(rep, r, segments)
		case errors.As(err, &p):
			rep.Problems = append(rep.Problems, p)
			continue
		case err != nil:
			return rep, err
		}
		rep.Records++
		seen.add(e.Batch)
		if s := sums[e.Start.Segment]; s != nil {
			s.count(e)
		}
		if visit != nil {
			if err := visit(e); err != nil {
				return rep, err
			}
		}
	}
}

func (s *Summary) count(e Entry) {
	b := e.Batch
	name := fmt.Sprintf("%s/%d", b.Boot, b.Seq)
	if s.Records == 0 {
		s.First, s.StartMS = name, b.StartMS
	}
	s.Records++
	s.Last, s.EndMS = name, max(s.EndMS, b.StartMS+b.DurationMS)
	s.StartMS = min(s.StartMS, b.StartMS)
	if b.Gap != nil {
		s.Gaps++
	}
}

// peekAck reads the acknowledged position without touching anything.
func peekAck(dir string) (Position, error) {
	var p Position
	err := readJSON(dir, ackFile, &p)
	return p, err
}
