// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"testing"
)

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
			if lastMinute(b) > 0 && b.ProviderID != "machine" {
				t.Errorf("gap %d does not name the machine", b.Seq)
			}
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
	opt := Options{MaxBytes: 16000, SegmentBytes: 4000}
	var boots []string
	for range 4 {
		s := mustOpen(t, dir, opt)
		boots = append(boots, s.Boot())
		for i := range 40 {
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

// What is written for what was dropped is less than that, also where an agent that
// starts again and again left a boot for each batch.
func TestGapsOfManyBootsStayWithinTheLimit(t *testing.T) {
	for _, boots := range []int{10, 40, 120} {
		dir := t.TempDir()
		for i := range boots {
			s := mustOpen(t, dir, Options{MaxBytes: 12000, SegmentBytes: 3000})
			mustAppend(t, s, minute(i, 600))
			if st := s.Status(); st.Bytes > 12000+3000 {
				t.Fatalf("boot %d of %d: %d bytes on disk, limit 12000", i, boots, st.Bytes)
			}
			s.Close()
		}
		named := map[int]bool{}
		rep, err := Verify(dir, func(e Entry) error {
			for i := int(e.Batch.StartMS / 60000); i <= lastMinute(e.Batch); i++ {
				named[i] = true
			}
			return nil
		})
		if err != nil || !rep.OK() || len(named) != boots {
			t.Errorf("%d boots: %d minutes are there or named, %+v, %v", boots, len(named), rep, err)
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
