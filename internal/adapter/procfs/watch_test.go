// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"
)

// watching returns a reader of this machine's own /proc, and skips where the
// kernel cannot watch processes.
func watching(t *testing.T, c *clock) *Reader {
	t.Helper()
	r := New(Options{Now: c.now})
	t.Cleanup(r.Close)
	if r.Processes([]int{os.Getpid()}); !r.alive.has(os.Getpid()) {
		t.Skip("processes cannot be watched here: /proc is of another PID namespace, or Linux is older than 5.3")
	}
	return r
}

// What is watched is what was asked for last, until Close.
func TestWatchIsBounded(t *testing.T) {
	c := newClock()
	r := watching(t, c)
	check := func(want int, when string) {
		t.Helper()
		if got := len(r.alive.fds); got != want {
			t.Errorf("%s: %d watched, want %d", when, got, want)
		}
	}
	r.Processes([]int{os.Getpid(), os.Getppid()})
	check(2, "at first")
	c.pass(time.Second)
	r.Processes([]int{os.Getpid()})
	check(1, "after one was not asked for")
	r.Close()
	check(0, "after Close")
	if got := r.Processes([]int{os.Getpid()}); len(got) != 1 || got[os.Getpid()].Gone {
		t.Errorf("after Close: %+v", got)
	}
	r.alive.close()
	r.alive.limit = 0
	r.known = map[int]*known{}
	if got := r.Processes([]int{os.Getpid()}); len(got) != 1 || got[os.Getpid()].Comm == "" {
		t.Errorf("where none may be watched: %+v", got)
	}
	check(0, "where none may be")
}

// A /proc whose numbers are not ours is never asked about by number.
func TestOnlyOurOwnNumbersAreWatched(t *testing.T) {
	f := newTree(t)
	for name, status := range map[string]string{
		"below":    "NSpid:\t4711\t" + strconv.Itoa(os.Getpid()) + "\n",
		"another":  "NSpid:\t4711\n",
		"unspoken": "Name:\tx\n",
	} {
		f.write(name+"/self/status", status)
		if ourNamespace(filepath.Join(f.dir, name)) {
			t.Errorf("%s: taken for ours", name)
		}
	}
	if ourNamespace(filepath.Join(f.dir, "missing")) {
		t.Error("missing: taken for ours")
	}
	f.write("same/self/status", "NSpid:\t"+strconv.Itoa(os.Getpid())+"\n")
	if !ourNamespace(filepath.Join(f.dir, "same")) {
		t.Error("our own is not taken for ours")
	}
}

// The kernel gives the PID of an ended process to another one between two
// samples. Needs the right to choose the next PID.
func TestReusedPIDIsAnotherProcess(t *testing.T) {
	c := newClock()
	r := watching(t, c)
	first := sleeper(t)
	pid := first.Process.Pid
	for range 3 {
		r.Processes([]int{pid})
	}
	before := r.Processes([]int{pid})[pid]
	if !r.alive.has(pid) {
		t.Fatal("a living child is not watched")
	}
	for range 50 {
		_ = first.Process.Kill()
		_ = first.Wait()
		time.Sleep(20 * time.Millisecond) // start times are in ticks of 10 ms
		if err := os.WriteFile("/proc/sys/kernel/ns_last_pid", []byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Skipf("cannot choose the next PID: %v", err)
		}
		if first = sleeper(t); first.Process.Pid == pid {
			break
		}
	}
	if first.Process.Pid != pid {
		t.Skip("others took the PID each time")
	}
	after := r.Processes([]int{pid})[pid]
	if after.Gone || after.StartTicks <= before.StartTicks {
		t.Errorf("before %+v, after %+v", before, after)
	}
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	child := exec.Command("sleep", "1000")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	return child
}

// A process that runs another program of the same name has that one's
// environment, once Refresh has passed.
func TestEnvironmentIsThatOfTheProgram(t *testing.T) {
	c := newClock()
	r := watching(t, c)
	child := exec.Command("sh", "-c", `echo; read x; CUDA_VISIBLE_DEVICES=2; export CUDA_VISIBLE_DEVICES; exec sh -c "echo; read x; :"`)
	child.Env = []string{"CUDA_VISIBLE_DEVICES=1", "PATH=" + os.Getenv("PATH")}
	in, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = child.Process.Kill(); _ = child.Wait() })
	said := bufio.NewReader(out)
	pid := child.Process.Pid
	env := func() string { return r.Processes([]int{pid})[pid].Env["CUDA_VISIBLE_DEVICES"] }
	hear := func() {
		t.Helper()
		if _, err := said.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	hear()
	for range 3 {
		if got := env(); got != "1" {
			t.Fatalf("at first: %q", got)
		}
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	hear() // of the second program
	if !r.alive.has(pid) {
		t.Error("a process that runs another program has not ended")
	}
	c.pass(time.Minute)
	if got := env(); got != "2" {
		t.Errorf("after it runs another program: %q", got)
	}
}

// What a call reads of many steady processes is a share of them, and what it
// reads of many new ones ends with the budget.
func TestWorkIsSpreadOverCalls(t *testing.T) {
	const n = 600
	f, c := newTree(t), newClock()
	var pids []int
	for pid := 1; pid <= n; pid++ {
		f.process(pid, "train", uint64(pid), "0::/a")
		pids = append(pids, pid)
	}
	r := f.reader(c)
	r.Processes(pids)
	r.Processes(pids)
	most, all := 0, 0
	for range 24 { // two minutes
		c.pass(5 * time.Second)
		r.Processes(pids)
		read := 0
		for _, k := range r.known {
			if k.readAt.Equal(c.at) {
				read++
			}
		}
		most, all = max(most, read), all+read
	}
	if fair := n / 12; most > fair*3/2 || all != 2*n {
		t.Errorf("read %d at most in a call and %d in all; fair are %d and %d", most, all, fair, 2*n)
	}
}

func TestBudget(t *testing.T) {
	const n = 50
	f, c := newTree(t), newClock()
	var pids []int
	for pid := 1; pid <= n; pid++ {
		f.process(pid, "train", uint64(pid), "0::/a")
		pids = append(pids, pid)
	}
	ticking := func() time.Time { c.pass(time.Millisecond); return c.at }
	r := f.readerWith(c, Options{Budget: 30 * time.Millisecond})
	r.opts.Now = ticking
	had := 0
	for calls := 0; had < n; calls++ {
		if calls > n {
			t.Fatalf("after %d calls %d of %d processes are known", calls, had, n)
		}
		began := c.at
		got := len(r.Processes(pids))
		if got <= had && got < n {
			t.Fatalf("call %d brought nothing new: %d, %d before", calls, got, had)
		}
		if took := c.at.Sub(began); took > 2*n*time.Millisecond+30*time.Millisecond {
			t.Errorf("call %d asked for the time %v long", calls, took)
		}
		had = got
	}
	// Another process under a known PID is not shown as the old one while
	// there is no budget to read it.
	f.process(7, "other", 999, "0::/b")
	r.opts.Budget = time.Nanosecond
	if p, ok := r.Processes(pids)[7]; ok {
		t.Errorf("a process that was not read: %+v", p)
	}
	r.opts.Budget = time.Hour
	if p := r.Processes(pids)[7]; p.StartTicks != 999 || p.Cgroup != "0::/b" {
		t.Errorf("got %+v", p)
	}
}

// An answer that was given is never changed.
func TestAnswersStand(t *testing.T) {
	f, c := newTree(t), newClock()
	f.process(7, "a", 42, "0::/a")
	r := f.reader(c)
	r.Processes([]int{7})
	one := r.Processes([]int{7})
	two := r.Processes([]int{7})
	if fmt.Sprintf("%p", one) != fmt.Sprintf("%p", two) {
		t.Error("nothing changed, and the answer is another")
	}
	f.process(8, "b", 43, "0::/b")
	if got := r.Processes([]int{7, 8}); len(got) != 2 || len(one) != 1 {
		t.Errorf("got %+v, before %+v", got, one)
	}
	f.remove("proc/7")
	if got := r.Processes([]int{7, 8}); !got[7].Gone || one[7].Gone {
		t.Errorf("got %+v, before %+v", got, one)
	}
	if got := r.Processes([]int{8}); len(got) != 1 {
		t.Errorf("got %+v", got)
	}
}
