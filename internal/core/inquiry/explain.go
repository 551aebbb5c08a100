// SPDX-License-Identifier: Apache-2.0

package inquiry

import "github.com/gputally/gputally/internal/core/report"

// Subject says what is to be explained: one of Line, Entry, PodUID, Pod and
// Workload, the last three with a time.
type Subject struct {
	// Line and Entry are ids.
	Line, Entry string
	PodUID      string
	// Pod is "namespace/name": all pods of the name in the time.
	Pod string
	// Workload is "namespace/kind/name", such as "ml/Job/train".
	Workload string
	// FromMS and ToMS are whole hours, [FromMS, ToMS), Unix milliseconds.
	FromMS, ToMS int64
	// Limit is how many entries are traced, those that cost most.
	Limit int
}

// Explanation is how what was asked for came about.
type Explanation struct {
	// Traces are of the entries, those first that cost most (by amount, then by
	// share × time, then by id).
	Traces []report.Trace
	// Entries is how many there are; the traces may be fewer.
	Entries int
}
