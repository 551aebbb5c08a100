// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"fmt"
	"path/filepath"
)

// ProblemKind says what is wrong with a stretch of a spool.
type ProblemKind string

// The kinds of problem.
const (
	// TornTail: the end of the newest segment is no whole record: a write was
	// cut short. Open cuts it off; to a reader it is the end.
	TornTail ProblemKind = "torn_tail"
	// Corrupt: bytes in the middle are no record. They are skipped.
	Corrupt ProblemKind = "corrupt"
	// BadHeader: the first bytes of a segment are not a segment header.
	BadHeader ProblemKind = "bad_header"
	// BadPayload: a record's checksum holds but it is no batch.
	BadPayload ProblemKind = "bad_payload"
	// Missing: segments are gone between two that are there, or before the
	// position that was asked for.
	Missing ProblemKind = "missing_segment"
	// BadState: a state file could not be read; it was set aside.
	BadState ProblemKind = "bad_state"
)

// Problem is a stretch of a spool that could not be read. It is an error, and
// the reading can go on after it.
type Problem struct {
	Kind ProblemKind `json:"kind"`
	// File is the path, Offset and Length the bytes concerned.
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Length int64  `json:"length"`
	Detail string `json:"detail"`
}

func (p *Problem) Error() string {
	return fmt.Sprintf("%s: %s at byte %d (%d bytes): %s",
		filepath.Base(p.File), p.Kind, p.Offset, p.Length, p.Detail)
}
