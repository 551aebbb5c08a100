// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

// minute is the i-th minute's batch; pad makes it larger.
func minute(i, pad int) usage.Batch {
	b := usage.Batch{Version: usage.BatchVersion, Node: "n1", StartMS: int64(i) * 60000, DurationMS: 60000, IntervalMS: 5000}
	if i > 0 {
		b.ProviderID = "machine" // not known at first
	}
	if pad > 0 {
		b.Cluster = strings.Repeat("x", pad)
	}
	return b
}

func mustOpen(t *testing.T, dir string, opt Options) *Spool {
	t.Helper()
	s, problems, err := Open(dir, opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("unexpected problem: %v", p)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustAppend(t *testing.T, s *Spool, b usage.Batch) {
	t.Helper()
	if err := s.Append(b); err != nil {
		t.Fatal(err)
	}
}

// readAll returns every record and problem from a position on.
func readAll(t *testing.T, r *Reader) (entries []Entry, problems []*Problem) {
	t.Helper()
	defer r.Close()
	for {
		e, err := r.Next()
		var p *Problem
		switch {
		case errors.Is(err, io.EOF):
			return entries, problems
		case errors.As(err, &p):
			problems = append(problems, p)
		case err != nil:
			t.Fatal(err)
		default:
			entries = append(entries, e)
		}
	}
}

func seqs(entries []Entry) []uint64 {
	var out []uint64
	for _, e := range entries {
		out = append(out, e.Batch.Seq)
	}
	return out
}

func TestAppendedBatchesComeBackInOrder(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{SegmentBytes: 600})
	for i := range 10 {
		mustAppend(t, s, minute(i, 0))
	}
	entries, problems := readAll(t, s.Reader(Position{}))
	if diff := cmp.Diff([]uint64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, seqs(entries)); diff != "" {
		t.Errorf("sequence numbers (-want +got):\n%s", diff)
	}
	if len(problems) > 0 {
		t.Errorf("problems in a healthy spool: %v", problems)
	}
	for i, e := range entries {
		want := minute(i, 0)
		want.Agent, want.Boot, want.Seq = s.Agent(), s.Boot(), uint64(i+1)
		if diff := cmp.Diff(want, e.Batch); diff != "" {
			t.Errorf("batch %d (-want +got):\n%s", i, diff)
		}
	}
	if st := s.Status(); st.Segments < 3 || st.Unacked != 10 {
		t.Errorf("status %+v: want several segments and 10 records", st)
	}
}

func TestReopenGoesOnWithANewBoot(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	agent, boot := s.Agent(), s.Boot()
	mustAppend(t, s, minute(1, 0))
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = mustOpen(t, dir, Options{})
	if s.Agent() != agent {
		t.Errorf("agent id changed from %s to %s", agent, s.Agent())
	}
	if s.Boot() == boot {
		t.Error("boot id is the same after a restart")
	}
	end, ok := s.LastEnd()
	if !ok || end.UnixMilli() != 120000 {
		t.Errorf("last end %v %v, want 120000 ms", end.UnixMilli(), ok)
	}
	mustAppend(t, s, minute(2, 0))
	entries, _ := readAll(t, NewReader(dir, Position{}))
	if diff := cmp.Diff([]uint64{1, 1}, seqs(entries)); diff != "" {
		t.Errorf("each boot counts from 1 (-want +got):\n%s", diff)
	}
}

func TestSecondWriterIsRefused(t *testing.T) {
	dir := t.TempDir()
	mustOpen(t, dir, Options{})
	_, _, err := Open(dir, Options{})
	if err == nil || !strings.Contains(err.Error(), "in use by another agent") {
		t.Errorf("second open: %v, want a word about the other agent", err)
	}
}

func TestAckSurvivesRestartAndCounts(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{SegmentBytes: 600})
	for i := range 9 {
		mustAppend(t, s, minute(i, 0))
	}
	entries, _ := readAll(t, s.Reader(Position{}))
	if err := s.Ack(entries[3].Next); err != nil {
		t.Fatal(err)
	}
	if got := s.Status().Unacked; got != 5 {
		t.Errorf("unacknowledged %d, want 5", got)
	}
	if err := s.Ack(entries[1].Next); err == nil {
		t.Error("going back was accepted")
	}
	if err := s.Ack(Position{Segment: 99}); err == nil {
		t.Error("acknowledging the future was accepted")
	}
	s.Close()
	s = mustOpen(t, dir, Options{SegmentBytes: 600})
	if got := s.Status().Unacked; got != 5 {
		t.Errorf("unacknowledged after restart %d, want 5", got)
	}
	rest, _ := readAll(t, s.Reader(s.Acked()))
	if diff := cmp.Diff([]uint64{5, 6, 7, 8, 9}, seqs(rest)); diff != "" {
		t.Errorf("what is left to ship (-want +got):\n%s", diff)
	}
}

func TestInstancesOutliveARestart(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	want := json.RawMessage(`{"GPU-1/7":1764600000000}`)
	if err := s.SaveInstances(want); err != nil {
		t.Fatal(err)
	}
	s.Close()
	s = mustOpen(t, dir, Options{})
	if diff := cmp.Diff(string(want), string(s.Instances())); diff != "" {
		t.Errorf("instances (-want +got):\n%s", diff)
	}
}

// Whatever byte of a segment is damaged, at most the records that contain it
// are lost, each loss is reported with its place, and nothing is misread.
// checkAccounted reads the spool: every number of the boot from the first
// unacknowledged to the highest is there once, or named by a gap.
func TestReaderFollowsTheWriter(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{SegmentBytes: 500})
	for _, r := range []*Reader{s.Reader(Position{}), NewReader(dir, Position{})} {
		defer r.Close()
		first := s.Status().Unacked
		for range first {
			if _, err := r.Next(); err != nil {
				t.Fatal(err)
			}
		}
		for i := range 6 {
			if _, err := r.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("before write %d: %v, want EOF", i, err)
			}
			mustAppend(t, s, minute(i, 0))
			if _, err := r.Next(); err != nil {
				t.Fatalf("after write %d: %v", i, err)
			}
		}
	}
}

func TestReaderOfADroppedPositionSaysSo(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{MaxBytes: 3000, SegmentBytes: 1000})
	mustAppend(t, s, minute(0, 600))
	r := s.Reader(Position{})
	if _, err := r.Next(); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		mustAppend(t, s, minute(i, 600))
	}
	_, problems := readAll(t, r)
	if len(problems) != 1 || problems[0].Kind != Missing {
		t.Errorf("problems %v, want one missing segment", problems)
	}
}
