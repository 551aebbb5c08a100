// SPDX-License-Identifier: Apache-2.0

package spool

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/usage"
)

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
