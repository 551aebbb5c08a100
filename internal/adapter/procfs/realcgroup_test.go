// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/gputally/gputally/internal/core/sample"
)

// The kernel's own cgroups (v1 or v2): a pod and a container are made of them,
// with one process that sees a real device node in its /dev. It needs root.
func TestRealCgroups(t *testing.T) {
	layout, err := findLayout("/sys/fs/cgroup")
	if err != nil {
		t.Skip(err)
	}
	// A UID of our own: other pods may live on this machine.
	uid := fmt.Sprintf("73dc8baf-43a0-413e-aac2-%012x", os.Getpid())
	pod := fmt.Sprintf("/kubepods-gputally-%d/pod%s", os.Getpid(), uid)
	roots := []string{layout.cpu}
	if !layout.unified {
		roots = append(roots, layout.memory, layout.devices)
	}
	root := t.TempDir()
	if err := os.Mkdir(root+"/dev", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mknod(root+"/dev/nvidia5", unix.S_IFCHR|0o666, int(unix.Mkdev(uint32(New(Options{}).major()), 5))); err != nil {
		t.Skipf("cannot make device nodes here: %v", err)
	}
	child := exec.Command("/proc/self/exe")
	child.Env = []string{sleepIn + "=" + root}
	input, err := child.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dirs []string
	t.Cleanup(func() {
		_ = input.Close()
		_ = child.Wait()
		for _, d := range slices.Backward(dirs) {
			_ = os.Remove(d)
		}
	})
	if _, err := output.Read(make([]byte, 1)); err != nil { // it is in its root
		t.Skipf("cannot change the root of a process here: %v", err)
	}
	for _, r := range roots {
		for _, d := range []string{filepath.Dir(pod), pod, pod + "/" + ctrA} {
			if err := os.Mkdir(r+d, 0o755); err != nil {
				t.Skipf("cannot make cgroups here: %v", err)
			}
			dirs = append(dirs, r+d)
		}
		if err := os.WriteFile(r+pod+"/"+ctrA+"/cgroup.procs", []byte(strconv.Itoa(child.Process.Pid)), 0); err != nil {
			t.Skipf("cannot move a process here: %v", err)
		}
	}
	r := New(Options{})
	if p := r.Processes([]int{child.Process.Pid})[child.Process.Pid]; p.Cgroup == "" || p.Gone {
		t.Errorf("process: %+v", p)
	}
	if layout.unified && !exists(layout.memory+pod+"/memory.current") {
		t.Skip("the memory controller is not given to new cgroups here")
	}
	usage, err := r.PodUsage()
	i := slices.IndexFunc(usage, func(u sample.PodUsage) bool { return u.PodUID == uid })
	if i < 0 {
		t.Fatalf("the pod is not among %+v (%v)", usage, err)
	}
	first := usage[i]
	if first.CPUNanos > 1e12 || first.MemoryBytes > 1<<40 {
		t.Errorf("got %+v", first)
	}
	if r.holder.open < 3 {
		t.Errorf("%d files held open", r.holder.open)
	}
	again, _ := r.PodUsage()
	if i := slices.IndexFunc(again, func(u sample.PodUsage) bool { return u.PodUID == uid }); i < 0 || again[i].CPUNanos < first.CPUNanos {
		t.Errorf("from open files: %+v, before %+v", again, usage)
	}
	reach, err := r.Reach()
	j := slices.IndexFunc(reach, func(x sample.Reach) bool { return x.PodUID == uid })
	if j < 0 {
		t.Fatalf("the container is not among %+v (%v)", reach, err)
	}
	if x := reach[j]; x.ContainerID != ctrA || !slices.Equal(x.Minors, []int{5}) || x.Evidence == "" {
		t.Errorf("got %+v", x)
	}
	if layout.unified {
		return
	}
	if err := os.WriteFile(layout.devices+pod+"/"+ctrA+"/devices.deny", []byte("a"), 0); err != nil {
		t.Fatal(err)
	}
	reach, _ = New(Options{}).Reach()
	if !slices.ContainsFunc(reach, func(x sample.Reach) bool { return x.PodUID == uid && len(x.Minors) == 0 }) {
		t.Errorf("a container that may open nothing: %+v", reach)
	}
	if err := input.Close(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	reach, _ = r.Reach()
	if slices.ContainsFunc(reach, func(x sample.Reach) bool { return x.PodUID == uid }) {
		t.Errorf("what ended reaches %+v", reach)
	}
	for _, d := range slices.Backward(dirs) {
		if err := os.Remove(d); err != nil {
			t.Fatal(err)
		}
	}
	usage, _ = r.PodUsage()
	if slices.ContainsFunc(usage, func(u sample.PodUsage) bool { return u.PodUID == uid }) || r.files[pod] != nil {
		t.Errorf("a pod without a cgroup uses %+v", usage)
	}
	if r.Close(); r.holder.open != 0 || len(r.reach.alive.fds) != 0 {
		t.Errorf("after Close %d files are open, %d processes watched", r.holder.open, len(r.reach.alive.fds))
	}
}

// sleepIn names the directory in which this program, started again by
// TestRealCgroups, sleeps instead of testing.
const sleepIn = "GPUTALLY_SLEEP_IN"

func TestMain(m *testing.M) {
	if root := os.Getenv(sleepIn); root != "" {
		os.Exit(sleep(root))
	}
	os.Exit(m.Run())
}

// sleep changes its root and waits until its input ends.
func sleep(root string) int {
	if err := unix.Chroot(root); err != nil {
		return 1
	}
	fmt.Print(".")
	if _, err := os.Stdin.Read(make([]byte, 1)); errors.Is(err, os.ErrClosed) {
		return 1
	}
	return 0
}
