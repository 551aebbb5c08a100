// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// quota is a disk with room for so many bytes. A write that does not fit is
// done in part, as the kernel does it.
type quota struct {
	mu   sync.Mutex
	left int64
	size map[string]int64
	// failSync makes the next so many fsyncs fail.
	failSync int
	// lazy leaves fsync out: for tests that pull no plug.
	lazy bool
}

type quotaFile struct {
	file
	q    *quota
	path string
}

func newQuota(left int64) *quota { return &quota{left: left, size: map[string]int64{}} }

func (q *quota) openSegment(path string) (file, error) {
	f, err := realDisk{}.openSegment(path)
	return &quotaFile{file: f, q: q, path: path}, err
}

func (q *quota) remove(path string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += q.size[path]
	delete(q.size, path)
	return os.Remove(path)
}

func (q *quota) give(n int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left += n
}

// resize sets a file's size and returns how much of it fits.
func (q *quota) resize(path string, to int64) (int64, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	grow := to - q.size[path]
	fit := min(grow, q.left)
	q.left -= fit
	q.size[path] += fit
	return q.size[path], fit == grow
}

func (f *quotaFile) WriteAt(b []byte, off int64) (int, error) {
	end, ok := f.q.resize(f.path, max(off+int64(len(b)), f.q.size[f.path]))
	if ok {
		return f.file.WriteAt(b, off)
	}
	n, err := f.file.WriteAt(b[:max(end-off, 0)], off)
	if err != nil {
		return n, err
	}
	return n, &os.PathError{Op: "write", Path: f.path, Err: unix.ENOSPC}
}

func (f *quotaFile) Truncate(size int64) error {
	f.q.resize(f.path, size)
	return f.file.Truncate(size)
}

func (f *quotaFile) Sync() error {
	f.q.mu.Lock()
	defer f.q.mu.Unlock()
	if f.q.failSync > 0 {
		f.q.failSync--
		return unix.EIO
	}
	if f.q.lazy {
		return nil
	}
	return f.file.Sync()
}

func TestFullDiskKeepsBatchesInMemoryAndWritesThemLater(t *testing.T) {
	dir := t.TempDir()
	q := newQuota(3000)
	s := mustOpen(t, dir, Options{disk: q})
	failed := 0
	for i := range 8 {
		if err := s.Append(minute(i, 600)); err != nil {
			failed++
			if !isFull(err) {
				t.Fatalf("append %d: %v, want a full disk", i, err)
			}
		}
	}
	st := s.Status()
	if failed == 0 || st.Pending != failed || st.Dropped != 0 {
		t.Fatalf("%d appends failed, status %+v: want them all pending", failed, st)
	}
	if n := countOnDisk(t, dir); n != 8-failed {
		t.Errorf("%d records can be read while the disk is full, want %d", n, 8-failed)
	}
	q.give(1 << 20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	rep, err := Verify(dir, nil)
	if err != nil || !rep.OK() || rep.Records != 8 {
		t.Errorf("after the disk has room: %+v %v, want 8 records and nothing wrong", rep, err)
	}
}

func TestFullDiskBeyondMemoryDropsTheOldestWithAGap(t *testing.T) {
	dir := t.TempDir()
	q := newQuota(3000)
	s := mustOpen(t, dir, Options{disk: q, PendingBytes: 4000})
	for i := range 50 {
		_ = s.Append(minute(i, 600))
	}
	st := s.Status()
	if st.Dropped == 0 || st.PendingBytes > 4000 {
		t.Fatalf("status %+v: want drops and at most 4000 bytes in memory", st)
	}
	q.give(1 << 20)
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, dir, s.Boot(), 0)
	rep, err := Verify(dir, nil)
	if err != nil || !rep.OK() {
		t.Errorf("verify: %+v %v", rep, err)
	}
	entries, _ := readAll(t, NewReader(dir, Position{}))
	at := int64(0)
	for _, e := range entries {
		if e.Batch.StartMS != at {
			t.Errorf("record %d begins at %d ms, the one before ended at %d", e.Batch.Seq, e.Batch.StartMS, at)
		}
		at = e.Batch.StartMS + e.Batch.DurationMS
	}
	if at != 50*60000 {
		t.Errorf("time is covered up to %d ms, want %d", at, 50*60000)
	}
}

// The spool is at its own limit and the disk is full too: the oldest segment
// makes room, and what was in it is named once there is room for the gap.
func TestFullDiskAtTheSpoolsOwnLimit(t *testing.T) {
	dir := t.TempDir()
	q := newQuota(20300)
	s := mustOpen(t, dir, Options{disk: q, MaxBytes: 20000, SegmentBytes: 4000})
	for i := range 60 {
		_ = s.Append(minute(i, 700))
	}
	err := s.Flush()
	for range 10 { // as the agent does, sample after sample
		if err == nil {
			break
		}
		err = s.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, dir, s.Boot(), 0)
}

func TestFullDiskFreesAcknowledgedSegments(t *testing.T) {
	dir := t.TempDir()
	q := newQuota(3000)
	s := mustOpen(t, dir, Options{disk: q, SegmentBytes: 900})
	for i := range 2 {
		mustAppend(t, s, minute(i, 700))
	}
	entries, _ := readAll(t, s.Reader(Position{}))
	if err := s.Ack(entries[1].Next); err != nil {
		t.Fatal(err)
	}
	for i := 2; i < 5; i++ {
		mustAppend(t, s, minute(i, 700))
	}
}

func TestFailedSyncBeginsANewSegment(t *testing.T) {
	dir := t.TempDir()
	q := newQuota(1 << 20)
	s := mustOpen(t, dir, Options{disk: q})
	mustAppend(t, s, minute(0, 0))
	q.failSync = 1
	if err := s.Append(minute(1, 0)); err == nil {
		t.Fatal("append succeeded though fsync failed")
	}
	mustAppend(t, s, minute(2, 0))
	if got := s.Status().Segments; got != 2 {
		t.Errorf("%d segments, want 2", got)
	}
	rep, err := Verify(dir, nil)
	if err != nil || !rep.OK() || rep.Records != 3 {
		t.Errorf("verify: %+v %v", rep, err)
	}
}

// The same story on a real full file system.
func TestFullTmpfs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a small tmpfs needs root")
	}
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Skipf("cannot mount a tmpfs here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	s := mustOpen(t, dir, Options{PendingBytes: 20000})
	var full int
	for i := range 60 {
		if err := s.Append(minute(i, 2000)); err != nil {
			if !isFull(err) {
				t.Fatal(err)
			}
			full++
		}
	}
	if full == 0 || s.Status().Dropped == 0 {
		t.Fatalf("the disk never filled up: %+v", s.Status())
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT, "size=1m"); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	checkAccounted(t, dir, s.Boot(), 0)
}
