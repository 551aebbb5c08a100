// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/sample"
)

// tree is a fixture of pseudo files in a temporary directory.
type tree struct {
	t   testing.TB
	dir string
}

func newTree(t *testing.T) tree { return tree{t, t.TempDir()} }

func (f tree) write(path, text string) {
	f.t.Helper()
	full := filepath.Join(f.dir, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		f.t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
		f.t.Fatal(err)
	}
}

func (f tree) remove(path string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, path)); err != nil {
		f.t.Fatal(err)
	}
}

// process writes the files of one process.
func (f tree) process(pid int, comm string, start uint64, cgroup string) {
	dir := fmt.Sprintf("proc/%d/", pid)
	f.write(dir+"stat", statLine(pid, comm, 'S', start))
	f.write(dir+"cgroup", cgroup+"\n")
	f.write(dir+"status", "Name:\tx\nUid:\t1000\t0\t0\t0\nCapBnd:\t00000000a80425fb\n")
	f.write(dir+"environ", "PATH=/bin\x00NVIDIA_VISIBLE_DEVICES=all\x00TOKEN=secret\x00")
}

func statLine(pid int, comm string, state byte, start uint64) string {
	return fmt.Sprintf("%d (%s) %c 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 %d 20 21\n", pid, comm, state, start)
}

// clock is a time that a test moves.
type clock struct{ at time.Time }

func (c *clock) now() time.Time        { return c.at }
func (c *clock) pass(d time.Duration)  { c.at = c.at.Add(d) }
func newClock() *clock                 { return &clock{time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)} }
func (f tree) reader(c *clock) *Reader { return f.readerWith(c, Options{}) }

func (f tree) readerWith(c *clock, o Options) *Reader {
	o.Proc, o.Cgroup, o.Now = filepath.Join(f.dir, "proc"), filepath.Join(f.dir, "cgroup"), c.now
	return New(o)
}

func TestProcesses(t *testing.T) {
	f := newTree(t)
	f.process(7, "a (b) c)", 42, "0::/system.slice/train.service")
	f.write("passwd", "root:x:0:0::/:/bin/sh\nalice:x:1000:100::/:/bin/sh\nlater:x:1000:1::/:/bin/sh\n")
	r := f.readerWith(newClock(), Options{Passwd: filepath.Join(f.dir, "passwd")})
	want := map[int]sample.Process{
		7: {
			StartTicks: 42, Cgroup: "0::/system.slice/train.service", Comm: "a (b) c)", UID: 1000, User: "alice",
			Env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"},
		},
		8: {Gone: true},
	}
	if d := cmp.Diff(want, r.Processes([]int{7, 8, 7, 0, -1})); d != "" {
		t.Error(d)
	}
}

// Of a steady process that cannot be watched only the stat is read: the other
// files may change unseen until Refresh has passed.
func TestSteadyProcessIsReadFromStatAlone(t *testing.T) {
	f, c := newTree(t), newClock()
	f.process(7, "train", 42, "0::/a")
	r := f.reader(c)
	cgroup := func() string { return r.Processes([]int{7})[7].Cgroup }
	if got := cgroup(); got != "0::/a" {
		t.Fatalf("got %q", got)
	}
	f.write("proc/7/cgroup", "0::/b\n") // the runtime moves it
	if got := cgroup(); got != "0::/b" {
		t.Fatalf("a new process is not read again: %q", got)
	}
	cgroup() // agrees with the reading before: settled
	f.write("proc/7/cgroup", "0::/c\n")
	if got := cgroup(); got != "0::/b" {
		t.Errorf("a settled process was read whole: %q", got)
	}
	c.pass(time.Minute)
	if got := cgroup(); got != "0::/c" {
		t.Errorf("not refreshed: %q", got)
	}
	f.write("proc/7/cgroup", "0::/d\n")
	f.write("proc/7/stat", statLine(7, "python", 'S', 42))
	if got := r.Processes([]int{7})[7]; got.Cgroup != "0::/d" || got.Comm != "python" {
		t.Errorf("a process that runs another program is not read again: %+v", got)
	}
}

func TestPIDReuse(t *testing.T) {
	f := newTree(t)
	f.process(7, "old", 42, "0::/a")
	r := f.reader(newClock())
	r.Processes([]int{7})
	r.Processes([]int{7})
	f.process(7, "old", 43, "0::/b")
	if got := r.Processes([]int{7})[7]; got.StartTicks != 43 || got.Cgroup != "0::/b" || got.Gone {
		t.Errorf("got %+v", got)
	}
}

func TestGoneProcessIsRememberedForTheGraceTime(t *testing.T) {
	f, c := newTree(t), newClock()
	f.process(7, "train", 42, "0::/a")
	r := f.reader(c)
	r.Processes([]int{7})
	f.remove("proc/7")
	for range 5 {
		c.pass(119 * time.Second)
		if got := r.Processes([]int{7})[7]; !got.Gone || got.Cgroup != "0::/a" || got.StartTicks != 42 {
			t.Fatalf("got %+v", got)
		}
	}
	c.pass(3 * time.Minute)
	if d := cmp.Diff(sample.Process{Gone: true}, r.Processes([]int{7})[7]); d != "" {
		t.Error(d)
	}
	if len(r.known) != 0 {
		t.Errorf("%d processes kept", len(r.known))
	}
}

func TestZombieKeepsWhatWasKnown(t *testing.T) {
	f, c := newTree(t), newClock()
	f.process(7, "train", 42, "0::/a")
	r := f.reader(c)
	r.Processes([]int{7})
	f.write("proc/7/stat", statLine(7, "train", 'Z', 42))
	f.write("proc/7/cgroup", "0::/\n")
	c.pass(time.Hour)
	if got := r.Processes([]int{7})[7]; got.Cgroup != "0::/a" || got.Gone {
		t.Errorf("got %+v", got)
	}
}

func TestMemoryOfProcessesIsBounded(t *testing.T) {
	f, c := newTree(t), newClock()
	r := f.readerWith(c, Options{MaxKept: 3})
	for pid := 1; pid <= 10; pid++ {
		f.process(pid, "x", 1, "0::/a")
		r.Processes([]int{pid})
		c.pass(time.Second)
	}
	if len(r.known) != 3 || r.known[10] == nil {
		t.Errorf("kept %d processes", len(r.known))
	}
	c.pass(time.Hour)
	r.Processes(nil)
	if len(r.known) != 0 {
		t.Errorf("kept %d processes that nobody asked for", len(r.known))
	}
}

func TestUnreadableProcessIsLeftOut(t *testing.T) {
	f := newTree(t)
	f.write("proc/7/stat", "no parentheses here")
	if got := f.reader(newClock()).Processes([]int{7}); len(got) != 0 {
		t.Errorf("got %+v", got)
	}
}

// The kernel's own files, of a real child.
func TestRealProcess(t *testing.T) {
	child := exec.Command("sleep", "1000")
	child.Env = []string{"CUDA_VISIBLE_DEVICES=1,2", "SECRET=x"}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	pid := child.Process.Pid
	r := New(Options{})
	var got sample.Process
	for end := time.Now().Add(time.Minute); got.Comm != "sleep" || got.Env == nil; { // until the child runs its program
		if time.Now().After(end) {
			t.Fatalf("after a minute the child is %+v", got)
		}
		got = r.Processes([]int{pid})[pid]
	}
	if d := cmp.Diff(map[string]string{"CUDA_VISIBLE_DEVICES": "1,2"}, got.Env); d != "" {
		t.Error(d)
	}
	if got.UID != os.Getuid() || got.StartTicks == 0 || !strings.Contains(got.Cgroup, "0::/") {
		t.Errorf("got %+v", got)
	}
	if len(r.alive.fds) != 1 {
		t.Errorf("%d processes watched, want 1", len(r.alive.fds))
	}
	if d := cmp.Diff(got, r.Processes([]int{pid})[pid]); d != "" {
		t.Error(d)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	again := r.Processes([]int{pid})[pid]
	got.Gone = true
	if d := cmp.Diff(got, again); d != "" {
		t.Error(d)
	}
	if len(r.alive.fds) != 0 {
		t.Errorf("%d ended processes watched", len(r.alive.fds))
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte(statLine(1, "a) S (b", 'R', 5)))
	f.Add([]byte("1 (x) S"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, line []byte) {
		s, err := parseStat(line)
		if err == nil && len(s.comm) > len(line) {
			t.Error("comm longer than the line")
		}
	})
}

func FuzzParseEnviron(f *testing.F) {
	f.Add([]byte("CUDA_VISIBLE_DEVICES=0\x00X=\x00=\x00NVIDIA_VISIBLE_DEVICES"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for name := range parseEnviron(text) {
			if !isSteering([]byte(name)) {
				t.Errorf("kept %q", name)
			}
		}
	})
}
