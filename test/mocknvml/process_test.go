// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"unsafe"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/mocknvml"
)

const notMIG = 0xFFFFFFFF

func TestProcessLists(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("h100")
	s.Proc(g, 10, 6*gib, "kind=compute+mps")
	s.Proc(g, 11, 28*mib)
	s.Proc(g, 12, 1*gib, "kind=graphics")
	s.Proc(g, 13, 0, "kind=mps").Set("mem", "unknown")
	s.Proc(s.GPU("h100"), 10, 5*gib)
	lib := load(t, s)
	d := device(t, lib, 0)

	row := func(pid uint32, used uint64) nvml.ProcessInfo {
		return nvml.ProcessInfo{Pid: pid, UsedGpuMemory: used, GpuInstanceId: notMIG, ComputeInstanceId: notMIG}
	}
	unknown := ^uint64(0)
	lists := []struct {
		kind string
		got  []nvml.ProcessInfo
		want []nvml.ProcessInfo
	}{
		{"compute", must[[]nvml.ProcessInfo](t)(d.GetComputeRunningProcesses()), []nvml.ProcessInfo{row(10, 6*gib), row(11, 28*mib)}},
		{"graphics", must[[]nvml.ProcessInfo](t)(d.GetGraphicsRunningProcesses()), []nvml.ProcessInfo{row(12, gib)}},
		{"MPS", must[[]nvml.ProcessInfo](t)(d.GetMPSComputeRunningProcesses()), []nvml.ProcessInfo{row(10, 6*gib), row(13, unknown)}},
	}
	for _, l := range lists {
		if diff := cmp.Diff(l.want, l.got); diff != "" {
			t.Errorf("%s processes:\n%s", l.kind, diff)
		}
	}
	compute := must[nvml.ProcessDetailList](t)(d.GetRunningProcessDetailList())
	if got := compute.NumProcArrayEntries; got != 2 {
		t.Fatalf("detail list has %d compute processes, want 2", got)
	}
	rows := unsafe.Slice(compute.ProcArray, compute.NumProcArrayEntries)
	if rows[0].Pid != 10 || rows[0].UsedGpuMemory != 6*gib || rows[1].Pid != 11 {
		t.Errorf("detail list %+v", rows)
	}
}

func TestProcessDetailListNeedsHopper(t *testing.T) {
	s := mocknvml.TestState(t)
	s.GPU("a100-40gb")
	_, ret := device(t, load(t, s), 0).GetRunningProcessDetailList()
	want(t, ret, nvml.ERROR_NOT_SUPPORTED)
}

// With reap the library drops processes that ended, as a driver does, and one whose
// pid now is another process'.
func TestReap(t *testing.T) {
	child := exec.Command("sleep", "600")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	ended := exec.Command("true")
	if err := ended.Run(); err != nil {
		t.Fatal(err)
	}
	s := mocknvml.TestState(t)
	s.Option("reap=1")
	g := s.GPU("t4", "extra=0")
	s.Proc(g, child.Process.Pid, gib, "start="+startTicks(t, child.Process.Pid))
	s.Proc(g, ended.Process.Pid, 2*gib)
	s.Proc(g, 1<<30, 4*gib, "zombie=1")
	s.Proc(g, os.Getpid(), 8*gib, "start=1") // another process had this pid
	d := device(t, load(t, s), 0)

	pids := func() string {
		var all []string
		for _, p := range must[[]nvml.ProcessInfo](t)(d.GetComputeRunningProcesses()) {
			all = append(all, fmt.Sprint(p.Pid))
		}
		return strings.Join(all, " ")
	}
	if got, want := pids(), fmt.Sprint(child.Process.Pid, " ", 1<<30); got != want {
		t.Errorf("listed %s, want %s", got, want)
	}
	if used := must[nvml.Memory_v2](t)(d.GetMemoryInfo_v2()).Used; used != 5*gib {
		t.Errorf("used %d, want what the listed processes hold", used)
	}
	_ = child.Process.Kill()
	_ = child.Wait()
	if got, want := pids(), fmt.Sprint(1<<30); got != want {
		t.Errorf("after the end of the child: listed %s, want %s", got, want)
	}
}

// startTicks is field 22 of /proc/PID/stat.
func startTicks(t *testing.T, pid int) string {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.Fields(after)[19]
}

// Old libraries have only the first versions; go-nvml then fills in the rest itself.
func TestOldProcessFunctions(t *testing.T) {
	if os.Getenv("MOCKNVML_OLD") == "" {
		runAlone(t, "MOCKNVML_OLD=1")
		return
	}
	s := mocknvml.TestState(t)
	g := s.GPU("a100-40gb", "mig=1")
	s.MIG(g, "1g.5gb", 7, 0)
	s.Proc(g, 10, gib, "gi=7", "ci=0")
	s.MustWrite(t)
	lib := nvml.New(nvml.WithLibraryPath(mocknvml.BuildWithout(t,
		"nvmlDeviceGetComputeRunningProcesses_v2", "nvmlDeviceGetComputeRunningProcesses_v3")))
	want(t, lib.Init(), nvml.SUCCESS)
	defer lib.Shutdown()
	if err := lib.Extensions().LookupSymbol("nvmlDeviceGetComputeRunningProcesses_v3"); err == nil {
		t.Error("the symbol is there")
	}
	got := must[[]nvml.ProcessInfo](t)(device(t, lib, 0).GetComputeRunningProcesses())
	want := []nvml.ProcessInfo{{Pid: 10, UsedGpuMemory: gib, GpuInstanceId: notMIG, ComputeInstanceId: notMIG}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// runAlone runs the calling test again in a process of its own: go-nvml keeps what
// it found in the first library.
func runAlone(t *testing.T, env string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Fatalf("%v\n%s", err, out)
	}
}
