// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"errors"
	"fmt"
)

// writeFrame appends a frame to the active segment and makes it durable. When
// that fails the segment ends where it ended before.
func (s *Spool) writeFrame(frame []byte) error {
	if s.active == nil {
		if err := s.begin(); err != nil {
			return err
		}
	}
	last := &s.segments[len(s.segments)-1]
	if _, err := s.active.WriteAt(frame, last.size); err != nil {
		return s.abandon(err)
	}
	if err := s.active.Sync(); err != nil {
		return s.abandon(err)
	}
	last.size += int64(len(frame))
	s.stats.Bytes += int64(len(frame))
	return nil
}

// abandon takes a failed write back. After a failed fsync nobody knows what of
// the file is on disk, so the segment is closed and the next write begins
// another.
func (s *Spool) abandon(err error) error {
	last := s.segments[len(s.segments)-1]
	cut := s.active.Truncate(last.size)
	if cut == nil && isFull(err) {
		return err
	}
	return errors.Join(err, cut, s.closeActive())
}

// begin makes a new active segment.
func (s *Spool) begin() error {
	number := s.ack.Segment + 1 // so that no old acknowledgement covers it
	if n := len(s.segments); n > 0 {
		number = max(number, s.segments[n-1].number+1)
	}
	path := segmentPath(s.dir, number)
	f, err := s.opt.disk.openSegment(path)
	if err != nil {
		return fmt.Errorf("begin segment: %w", err)
	}
	_, err = f.WriteAt(encodeHeader(number), 0)
	if err == nil {
		err = f.Truncate(segmentHeader)
	}
	if err == nil {
		err = errors.Join(f.Sync(), syncDir(s.dir))
	}
	if err != nil {
		return fmt.Errorf("begin segment: %w", errors.Join(err, f.Close(), s.opt.disk.remove(path)))
	}
	s.active = f
	s.segments = append(s.segments, segment{number: number, size: segmentHeader})
	s.stats.Bytes += segmentHeader
	return nil
}

func (s *Spool) closeActive() error {
	if s.active == nil {
		return nil
	}
	err := s.active.Close()
	s.active = nil
	return err
}
