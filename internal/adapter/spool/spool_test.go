// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

// minute is the i-th minute's batch; pad makes it larger.
func minute(i, pad int) usage.Batch {
	b := usage.Batch{Version: usage.BatchVersion, Node: "n1", StartMS: int64(i) * 60000, DurationMS: 60000, IntervalMS: 5000}
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

func TestBadStateFileIsSetAsideAndReported(t *testing.T) {
	for _, name := range []string{agentFile, stateFile, ackFile} {
		dir := t.TempDir()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("{half"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, problems, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) != 1 || problems[0].Kind != BadState || problems[0].File != path {
			t.Errorf("%s: problems %v, want one that names it", name, problems)
		}
		if _, err := os.Stat(path + ".bad"); err != nil {
			t.Errorf("%s was not kept: %v", name, err)
		}
		s.Close()
	}
}

func TestTornTailIsCutOffAndReported(t *testing.T) {
	whole := appendFrame(nil, []byte(`{"v":1}`))
	for cut := 1; cut < len(whole); cut++ {
		dir := t.TempDir()
		s := mustOpen(t, dir, Options{})
		mustAppend(t, s, minute(1, 0))
		s.Close()
		path := segmentPath(dir, 1)
		size := fileSize(t, path)
		appendBytes(t, path, whole[:cut])

		s, problems, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(problems) != 1 || problems[0].Kind != TornTail || problems[0].Offset != size || problems[0].File != path {
			t.Fatalf("cut %d: problems %v, want the torn tail at %d", cut, problems, size)
		}
		if got := fileSize(t, path); got != size {
			t.Errorf("cut %d: file has %d bytes after open, want %d", cut, got, size)
		}
		mustAppend(t, s, minute(2, 0))
		s.Close()
		entries, problems := readAll(t, NewReader(dir, Position{}))
		if len(entries) != 2 || len(problems) != 0 {
			t.Errorf("cut %d: %d records, problems %v; want 2 and none", cut, len(entries), problems)
		}
	}
}

// Whatever byte of a segment is damaged, at most the records that contain it
// are lost, each loss is reported with its place, and nothing is misread.
func TestCorruptionAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for i := range 4 {
		mustAppend(t, s, minute(i, 0))
	}
	s.Close()
	path := segmentPath(dir, 1)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	entries, _ := readAll(t, NewReader(dir, Position{}))
	// A later segment makes this one's end the middle of the queue.
	if err := os.WriteFile(segmentPath(dir, 2), encodeHeader(2), 0o600); err != nil {
		t.Fatal(err)
	}
	for off := range good {
		for _, flip := range []byte{0x01, 0x80, 0xFF} {
			bad := append([]byte(nil), good...)
			bad[off] ^= flip
			if err := os.WriteFile(path, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			checkDamage(t, dir, int64(off), entries)
		}
	}
}

func checkDamage(t *testing.T, dir string, off int64, want []Entry) {
	t.Helper()
	r := NewReader(dir, Position{})
	if v := (Position{Offset: off}); v.Offset >= 8 && v.Offset < 12 {
		return // the version: see TestUnknownVersionIsRefused
	}
	got, problems := readAll(t, r)
	if len(problems) != 1 || problems[0].File != segmentPath(dir, 1) {
		t.Fatalf("byte %d: problems %v, want exactly one", off, problems)
	}
	p := problems[0]
	if off < p.Offset || off >= p.Offset+p.Length {
		t.Errorf("byte %d: reported at %d for %d bytes", off, p.Offset, p.Length)
	}
	var left []Entry
	for _, e := range want {
		if off < e.Start.Offset || off >= e.Next.Offset {
			left = append(left, e)
		}
	}
	if off < segmentHeader {
		left = want
	}
	if diff := cmp.Diff(seqs(left), seqs(got)); diff != "" {
		t.Errorf("byte %d: records (-want +got):\n%s", off, diff)
	}
}

func TestUnknownVersionIsRefused(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	mustAppend(t, s, minute(1, 0))
	s.Close()
	data, _ := os.ReadFile(segmentPath(dir, 1))
	copy(data, versionHeader(1, 2))
	if err := os.WriteFile(segmentPath(dir, 1), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "version 2 is not known") {
		t.Errorf("open: %v, want a word about version 2", err)
	}
	if _, err := NewReader(dir, Position{}).Next(); err == nil || isProblem(err) {
		t.Errorf("read: %v, want an error", err)
	}
}

func TestFullSpoolDropsAcknowledgedFirstThenNamesWhatItDrops(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{MaxBytes: 8000, SegmentBytes: 2000})
	for i := range 8 {
		mustAppend(t, s, minute(i, 600))
	}
	entries, _ := readAll(t, s.Reader(Position{}))
	if err := s.Ack(entries[3].Next); err != nil {
		t.Fatal(err)
	}
	for i := 8; i < 12; i++ {
		mustAppend(t, s, minute(i, 600))
	}
	if st := s.Status(); st.Dropped != 0 {
		t.Fatalf("dropped %d although acknowledged segments were there", st.Dropped)
	}
	for i := 12; i < 30; i++ {
		mustAppend(t, s, minute(i, 600))
	}
	st := s.Status()
	if st.Bytes > 8000+2000 {
		t.Errorf("%d bytes on disk, limit 8000", st.Bytes)
	}
	if st.Dropped == 0 {
		t.Fatal("nothing was dropped")
	}
	acked := 4
	checkAccounted(t, dir, s.Boot(), acked)
	if n := countOnDisk(t, dir); int64(n) != int64(st.Unacked) {
		t.Errorf("%d records on disk, status says %d", n, st.Unacked)
	}
}

// checkAccounted reads the spool: every number of the boot from the first
// unacknowledged to the highest is there once, or named by a gap.
func checkAccounted(t *testing.T, dir, boot string, acked int) {
	t.Helper()
	entries, problems := readAll(t, NewReader(dir, Position{}))
	if len(problems) > 0 {
		t.Errorf("problems: %v", problems)
	}
	state := map[uint64]string{}
	var top uint64
	for _, e := range entries {
		b := e.Batch
		if b.Boot != boot {
			continue
		}
		if state[b.Seq] == "there" {
			t.Errorf("seq %d is there twice", b.Seq)
		}
		state[b.Seq] = "there"
		top = max(top, b.Seq)
		if g := b.Gap; g != nil && g.FirstSeq != 0 && g.Boot == boot {
			top = max(top, g.LastSeq)
			for n := g.FirstSeq; n <= g.LastSeq; n++ {
				if state[n] == "" {
					state[n] = "named"
				}
			}
		}
	}
	for n := uint64(acked + 1); n <= top; n++ {
		if state[n] == "" {
			t.Errorf("seq %d of %d is neither there nor named by a gap", n, top)
		}
	}
}

func countOnDisk(t *testing.T, dir string) int {
	entries, _ := readAll(t, NewReader(dir, Position{}))
	return len(entries)
}

func TestGapsOfEarlierBootsAreCarriedAlong(t *testing.T) {
	dir := t.TempDir()
	opt := Options{MaxBytes: 4000, SegmentBytes: 1000}
	var boots []string
	for range 4 {
		s := mustOpen(t, dir, opt)
		boots = append(boots, s.Boot())
		for i := range 10 {
			mustAppend(t, s, minute(i, 600))
		}
		s.Close()
	}
	for _, boot := range boots {
		checkAccounted(t, dir, boot, 0)
		if !namedOrThere(t, dir, boot) {
			t.Errorf("boot %s left no trace", boot)
		}
	}
}

func namedOrThere(t *testing.T, dir, boot string) bool {
	entries, _ := readAll(t, NewReader(dir, Position{}))
	for _, e := range entries {
		if e.Batch.Boot == boot || e.Batch.Gap != nil && e.Batch.Gap.Boot == boot {
			return true
		}
	}
	return false
}

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

func TestVerifyFindsDuplicatesAndHoles(t *testing.T) {
	dir := t.TempDir()
	s := mustOpen(t, dir, Options{})
	for i := range 5 {
		mustAppend(t, s, minute(i, 0))
	}
	s.Close()
	rep, err := Verify(dir, nil)
	if err != nil || !rep.OK() || rep.Records != 5 {
		t.Fatalf("healthy spool: %+v %v", rep, err)
	}
	entries, _ := readAll(t, NewReader(dir, Position{}))
	late := entries[4].Batch
	late.Seq = 9
	for _, b := range []usage.Batch{entries[2].Batch, late} {
		payload, _ := json.Marshal(b)
		appendBytes(t, segmentPath(dir, 1), appendFrame(nil, payload))
	}
	rep, err = Verify(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Report{Duplicates: []string{fmt.Sprintf("%s/3", s.Boot())}, Holes: []string{fmt.Sprintf("%s/6-8", s.Boot())}}
	if diff := cmp.Diff(want.Duplicates, rep.Duplicates); diff != "" {
		t.Errorf("duplicates (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want.Holes, rep.Holes); diff != "" {
		t.Errorf("holes (-want +got):\n%s", diff)
	}
}

func fileSize(t *testing.T, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

func appendBytes(t *testing.T, path string, data []byte) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(data); err != nil {
		t.Fatal(err)
	}
}
