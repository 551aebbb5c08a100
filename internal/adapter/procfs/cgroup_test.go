// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"github.com/gputally/gputally/internal/core/sample"
)

const (
	uidA   = "73dc8baf-43a0-413e-aac2-5eb0868f6c1a"
	uidB   = "a2830d0d-b0f0-4ff0-81b5-0ee4e299cf80"
	static = "b1e89a2fcc688644de3eb95aee8025ce"
	ctrA   = "123cd1db937c3c2d0d7772ef9b0a1c4b0b3dcfcb6b889452a90b2fcb43eae43a"
	ctrB   = "09bc3d7ade839efec32b6bec4ec79d099027a668ddba043083ec21d3c3b8f1e6"
)

// The layouts of a node: where a burstable pod A, a best-effort pod B and a
// static pod have their cgroups.
var layouts = map[string]struct {
	unified  bool
	a, b, st string
	inA, inB string // a container in each
}{
	"v2 systemd": {
		unified: true,
		a:       "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + strings.ReplaceAll(uidA, "-", "_") + ".slice",
		b:       "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod" + strings.ReplaceAll(uidB, "-", "_") + ".slice",
		st:      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" + static + ".slice",
		inA:     "cri-containerd-" + ctrA + ".scope", inB: "crio-" + ctrB + ".scope",
	},
	"v2 cgroupfs": {
		unified: true,
		a:       "/kubepods/burstable/pod" + uidA, b: "/kubepods/besteffort/pod" + uidB, st: "/kubepods/pod" + static,
		inA: ctrA, inB: ctrB,
	},
	"v1 cgroupfs": {
		a: "/kubepods/burstable/pod" + uidA, b: "/kubepods/besteffort/pod" + uidB, st: "/kubepods/pod" + static,
		inA: ctrA, inB: ctrB,
	},
	"v1 systemd in kind": {
		a:   "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod" + strings.ReplaceAll(uidA, "-", "_") + ".slice",
		b:   "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/kubelet-kubepods-besteffort-pod" + strings.ReplaceAll(uidB, "-", "_") + ".slice",
		st:  "/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod" + static + ".slice",
		inA: "cri-containerd-" + ctrA + ".scope", inB: "docker-" + ctrB + ".scope",
	},
}

// usage writes the accounting files of a cgroup.
func (f tree) usage(unified bool, rel string, cpuNanos, memory, inactive uint64) {
	if unified {
		f.write("cgroup/cgroup.controllers", "cpu memory\n")
		f.write("cgroup"+rel+"/cpu.stat", fmt.Sprintf("usage_usec %d\nuser_usec 1\n", cpuNanos/1000))
		f.write("cgroup"+rel+"/memory.current", fmt.Sprintln(memory))
		f.write("cgroup"+rel+"/memory.stat", fmt.Sprintf("anon 5\ninactive_file_not 9\ninactive_file %d\n", inactive))
		return
	}
	f.write("cgroup/cpuacct"+rel+"/cpuacct.usage", fmt.Sprintln(cpuNanos))
	f.write("cgroup/memory"+rel+"/memory.usage_in_bytes", fmt.Sprintln(memory))
	f.write("cgroup/memory"+rel+"/memory.stat", fmt.Sprintf("inactive_file 1\ntotal_inactive_file %d\n", inactive))
}

func TestPodUsage(t *testing.T) {
	for name, l := range layouts {
		t.Run(name, func(t *testing.T) {
			f, c := newTree(t), newClock()
			f.usage(l.unified, l.a, 5000, 100, 30)
			f.usage(l.unified, l.a+"/"+l.inA, 4000, 90, 30)
			f.usage(l.unified, l.b, 7000, 10, 30)
			f.usage(l.unified, l.st, 9000, 50, 0)
			f.usage(l.unified, "/system.slice/sshd.service", 1000, 50, 0)
			r := f.reader(c)
			want := []sample.PodUsage{
				{PodUID: uidA, CPUNanos: 5000, MemoryBytes: 70},
				{PodUID: uidB, CPUNanos: 7000, MemoryBytes: 0},
				{PodUID: static, CPUNanos: 9000, MemoryBytes: 50},
			}
			check := func() {
				t.Helper()
				got, err := r.PodUsage()
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Error(d)
				}
			}
			check()
			// Pods come and go between two searches of the tree.
			for _, dir := range []string{"cgroup", "cgroup/cpuacct", "cgroup/memory"} {
				f.remove(dir + l.b)
			}
			const uidC = "1858680e-b044-4fd5-9dd4-f137e30e2180"
			f.usage(l.unified, strings.NewReplacer(uidB, uidC, strings.ReplaceAll(uidB, "-", "_"), strings.ReplaceAll(uidC, "-", "_")).Replace(l.b), 1000, 2, 0)
			want = []sample.PodUsage{{PodUID: uidC, CPUNanos: 1000, MemoryBytes: 2}, want[0], want[2]}
			check()
		})
	}
}

func TestPodUsageErrors(t *testing.T) {
	f := newTree(t)
	r := f.reader(newClock())
	if _, err := r.PodUsage(); err == nil || !strings.Contains(err.Error(), "neither cgroup v2 (cgroup.controllers) nor v1") {
		t.Errorf("got %v", err)
	}
	f.usage(true, "/kubepods/pod"+uidA, 1000, 2, 1)
	f.usage(true, "/kubepods/pod"+uidB, 1000, 2, 1)
	f.write("cgroup/kubepods/pod"+uidB+"/memory.stat", "anon 1\n")
	got, err := r.PodUsage()
	if err == nil || !strings.Contains(err.Error(), "1 of 2 pods") || !strings.Contains(err.Error(), "memory.stat: no number for inactive_file") {
		t.Errorf("got %v", err)
	}
	if len(got) != 1 || got[0].PodUID != uidA {
		t.Errorf("got %+v", got)
	}
}

// fakeNodes answers lstat for device nodes that a test names, so that it needs
// no root: paths below the fixture's proc, to their stat.
type fakeNodes map[string]nodeStat

func (f tree) node(n fakeNodes, pid int, name string, st nodeStat) {
	path := fmt.Sprintf("proc/%d/root/dev/%s", pid, name)
	f.write(path, "")
	n[filepath.Join(f.dir, path)] = st
}

func (n fakeNodes) lstat(path string) (nodeStat, error) {
	if st, ok := n[path]; ok {
		return st, nil
	}
	return lstatNode(path)
}

const ownDev, hostDev = 71, 5 // file systems

func gpuNode(minor int) nodeStat {
	return nodeStat{char: true, major: 195, minor: minor, device: ownDev}
}

func hostNode(minor int) nodeStat {
	return nodeStat{char: true, major: 195, minor: minor, device: hostDev}
}

const allCaps = "CapBnd:\t000001ffffffffff\n"

// containerAt gives a container cgroup one process.
func (f tree) containerAt(rel string, unified bool, pid int) {
	root := "cgroup"
	if !unified {
		root = "cgroup/devices"
	}
	f.write(root+rel+"/cgroup.procs", fmt.Sprintf("0\n%d\n", pid))
	f.process(pid, "main", uint64(pid), "0::"+rel)
}

func (f tree) fakeReader(c *clock, n fakeNodes) *Reader {
	n[filepath.Join(f.dir, "proc/1/root/dev")] = nodeStat{dir: true, device: hostDev}
	r := f.reader(c)
	r.lstat = n.lstat
	return r
}

func TestReachV1(t *testing.T) {
	for _, name := range []string{"v1 cgroupfs", "v1 systemd in kind"} {
		l := layouts[name]
		f, n := newTree(t), fakeNodes{}
		f.usage(false, l.a, 1, 1, 1)
		a, b := l.a+"/"+l.inA, l.b+"/"+l.inB
		f.containerAt(a, false, 101)
		f.write("cgroup/devices"+a+"/devices.list", "c 1:3 rwm\nb *:* rw\nc 195:* m\nc 195:255 rw\nc 195:0 rw\nc 195:3 rwm\n")
		for _, minor := range []int{0, 1} { // 1 is seen but not allowed, 3 allowed but not seen
			f.node(n, 101, fmt.Sprint("nvidia", minor), gpuNode(minor))
		}
		f.node(n, 101, "nvidiactl", gpuNode(255))
		f.node(n, 101, "nvidia-modeset", gpuNode(254))
		f.node(n, 101, "nvidia-caps/nvidia-cap66", nodeStat{char: true, major: 237, minor: 66})
		f.containerAt(b, false, 102)
		f.write("cgroup/devices"+b+"/devices.list", "a *:* rwm\n")
		f.node(n, 102, "nvidia1", hostNode(1))
		f.node(n, 102, "nvidia-uvm", nodeStat{char: true, major: 510})
		got, err := f.fakeReader(newClock(), n).Reach()
		if err != nil {
			t.Fatal(err)
		}
		want := []sample.Reach{
			{PodUID: uidA, ContainerID: ctrA, Minors: []int{0}, Evidence: "devices-cgroup, device-nodes, nvidia-caps 66"},
			{PodUID: uidB, ContainerID: ctrB, Minors: []int{1}, Evidence: "devices-cgroup, device-nodes"},
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func TestReachV2(t *testing.T) {
	for _, name := range []string{"v2 cgroupfs", "v2 systemd"} {
		l := layouts[name]
		f, n := newTree(t), fakeNodes{}
		f.usage(true, l.a, 1, 1, 1)
		a, b, st := l.a+"/"+l.inA, l.b+"/"+l.inB+"/container", l.st+"/"+l.inA
		f.containerAt(a, true, 101) // one node of its own, one mounted in vain
		f.node(n, 101, "nvidia0", gpuNode(0))
		f.node(n, 101, "nvidia1", hostNode(1))
		f.write("cgroup"+filepath.Dir(b)+"/cgroup.procs", "")
		f.containerAt(b, true, 102) // privileged, with the host's /dev, nested
		f.write("proc/102/status", allCaps)
		f.node(n, 102, "nvidia0", hostNode(0))
		f.node(n, 102, "nvidia1", hostNode(1))
		f.containerAt(st, true, 103) // the host's /dev without privilege
		f.node(n, 103, "nvidia0", hostNode(0))
		f.write("cgroup"+l.a+"/crio-conmon-"+ctrB+".scope/cgroup.procs", "102\n")
		got, err := f.fakeReader(newClock(), n).Reach()
		if err != nil {
			t.Fatal(err)
		}
		want := []sample.Reach{
			{PodUID: uidA, ContainerID: ctrA, Minors: []int{0}, Evidence: "device-nodes"},
			{PodUID: uidB, ContainerID: ctrB, Minors: []int{0, 1}, Evidence: "device-nodes, privileged"},
			{PodUID: static, ContainerID: ctrA, Minors: []int{}, Evidence: "device-nodes"}, // looked at: none
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// A known container is looked at again when its process changed, or after a
// minute; the tree is searched every 15 s.
func TestReachIsCached(t *testing.T) {
	l := layouts["v2 cgroupfs"]
	f, n, c := newTree(t), fakeNodes{}, newClock()
	f.usage(true, l.a, 1, 1, 1)
	f.containerAt(l.a+"/"+l.inA, true, 101)
	f.node(n, 101, "nvidia0", gpuNode(0))
	r := f.fakeReader(c, n)
	minors := func() string {
		t.Helper()
		got, err := r.Reach()
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, e := range got {
			text += fmt.Sprint(e.Minors)
		}
		return text
	}
	expect := func(after time.Duration, want string) {
		t.Helper()
		c.pass(after)
		if got := minors(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	expect(0, "[0]")
	f.node(n, 101, "nvidia1", gpuNode(1))
	expect(15*time.Second, "[0]")
	expect(45*time.Second, "[0 1]")
	f.containerAt(l.b+"/"+l.inB, true, 102)
	f.node(n, 102, "nvidia2", gpuNode(2))
	expect(14*time.Second, "[0 1]")
	expect(time.Second, "[0 1][2]")
	f.process(101, "main", 999, "0::/") // another process took the PID
	f.node(n, 101, "nvidia3", gpuNode(3))
	expect(15*time.Second, "[0 1 3][2]")
	f.remove("proc/102") // what ended between two scans reaches nothing
	expect(time.Second, "[0 1 3]")
	f.remove("cgroup" + l.a)
	expect(14*time.Second, "")
}

// Real device nodes, where we may make them.
func TestReachOfRealNodes(t *testing.T) {
	l := layouts["v2 cgroupfs"]
	f := newTree(t)
	f.usage(true, l.a, 1, 1, 1)
	f.containerAt(l.a+"/"+l.inA, true, 101)
	f.write("proc/101/status", allCaps)
	f.write("proc/devices", "Character devices:\n  1 mem\n200 nvidia\n")
	f.write("proc/101/root/dev/nvidia7", "not a device")
	dev := filepath.Join(f.dir, "proc/101/root/dev")
	for name, rdev := range map[string]uint64{"nvidia0": unix.Mkdev(200, 0), "nvidia1": unix.Mkdev(195, 1)} {
		if err := unix.Mknod(filepath.Join(dev, name), unix.S_IFCHR|0o600, int(rdev)); err != nil {
			t.Skipf("cannot make device nodes here: %v", err)
		}
	}
	if err := os.Symlink("nvidia0", filepath.Join(dev, "nvidia2")); err != nil {
		t.Fatal(err)
	}
	got, err := f.reader(newClock()).Reach()
	if err != nil {
		t.Fatal(err)
	}
	want := []sample.Reach{{PodUID: uidA, ContainerID: ctrA, Minors: []int{0}, Evidence: "device-nodes, privileged"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// A container whose /dev is a link must not lead us to the host's.
func TestReachDoesNotFollowLinks(t *testing.T) {
	l := layouts["v2 cgroupfs"]
	f := newTree(t)
	f.usage(true, l.a, 1, 1, 1)
	f.containerAt(l.a+"/"+l.inA, true, 101)
	f.write("proc/101/root/etc", "")
	if err := os.Symlink("/dev", filepath.Join(f.dir, "proc/101/root/dev")); err != nil {
		t.Fatal(err)
	}
	got, err := f.reader(newClock()).Reach()
	if len(got) != 0 || err == nil || !strings.Contains(err.Error(), "read device reach: 1 containers: list ") {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestHostMemory(t *testing.T) {
	f := newTree(t)
	r := f.reader(newClock())
	if _, err := r.HostMemory(); err == nil {
		t.Error("no error without meminfo")
	}
	f.write("proc/meminfo", "MemTotal:       16384 kB\nMemFree: 1 kB\n")
	if got, err := r.HostMemory(); err != nil || got != 16<<20 {
		t.Errorf("got %d, %v", got, err)
	}
	f.write("proc/meminfo", "MemFree: 1 kB\n")
	if _, err := r.HostMemory(); err == nil || !strings.Contains(err.Error(), "no MemTotal") {
		t.Errorf("got %v", err)
	}
}

func TestHostCPUs(t *testing.T) {
	f := newTree(t)
	r := f.reader(newClock())
	if _, err := r.HostCPUs(); err == nil {
		t.Error("no error without stat")
	}
	f.write("proc/stat", "cpu  9 9 9\ncpu0 1 1 1\ncpu7 1 1 1\ncpufreq 3\nintr 5\n")
	if got, err := r.HostCPUs(); err != nil || got != 2 {
		t.Errorf("got %d, %v", got, err)
	}
	f.write("proc/stat", "cpu  9 9 9\n")
	if _, err := r.HostCPUs(); err == nil || !strings.Contains(err.Error(), "no line cpu0") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseDevicesList(f *testing.F) {
	f.Add([]byte("c 195:0 rwm\na *:* rwm\nc 195:* m\nc 1:3\n"), 195)
	f.Fuzz(func(t *testing.T, text []byte, major int) {
		if a := parseDevicesList(text, major); a.all && len(text) < len("a *:* r") {
			t.Errorf("all from %q", text)
		}
		majorOf(text)
		privileged(text)
		keyed(text, "k")
		parsePasswd(text)
	})
}
