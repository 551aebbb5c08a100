// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/test/mocknvml"
)

func TestStateText(t *testing.T) {
	s := mocknvml.NewState("unused")
	s.Driver("570.1")
	s.Driver("570.2")
	g := s.GPU("t4", "name=Tesla T4")
	p := s.Proc(g, 7, 5)
	s.Proc(g, 8, 6).Remove()
	p.Set("mem", "unknown")
	s.XID(g, 79)
	s.XID(g, 31)
	s.Fault(nil, "hang", "nvmlInit*")
	want := `driver 570.2
gpu profile=t4 uuid=GPU-00000000-0000-4000-8000-000000000000 name="Tesla T4"
proc gpu=0 pid=7 mem=unknown
event gpu=0 seq=1 xid=79
event gpu=0 seq=2 xid=31
fault kind=hang call=nvmlInit*
`
	if d := cmp.Diff(want, string(s.Bytes())); d != "" {
		t.Error(d)
	}
	if p.Get("mem") != "unknown" || g.Index() != 0 {
		t.Errorf("mem %q, index %d", p.Get("mem"), g.Index())
	}
}

// The state changes under a running client, in this and in another process.
func TestStateChangesWhileRunning(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	p := s.Proc(g, os.Getpid(), gib)
	d := device(t, load(t, s), 0)
	for _, used := range []uint64{2 * gib, 3 * gib, 0} {
		p.Set("mem", used)
		s.MustWrite(t)
		if got := must[nvml.Memory_v2](t)(d.GetMemoryInfo_v2()).Used; got != used {
			t.Errorf("used %d, want %d", got, used)
		}
	}
}

// The library knows a changed file by inode, size and time. Inodes come back and
// the kernel's file clock is coarse, so each write has a time of its own.
func TestEveryWriteHasItsOwnTime(t *testing.T) {
	s := mocknvml.NewState(filepath.Join(t.TempDir(), "state"))
	s.GPU("t4")
	var last time.Time
	for range 100 {
		s.MustWrite(t)
		info, err := os.Stat(s.Path())
		if err != nil {
			t.Fatal(err)
		}
		if !info.ModTime().After(last) {
			t.Fatalf("written at %v, the one before at %v", info.ModTime(), last)
		}
		last = info.ModTime()
	}
}

// Many readers and a writer: no reader sees half a state.
func TestStateIsNeverSeenInHalf(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	a, b := s.Proc(g, 1, gib), s.Proc(g, 2, gib)
	d := device(t, load(t, s), 0)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if m, ret := d.GetMemoryInfo_v2(); ret != nvml.SUCCESS || m.Used != 2*gib {
					t.Errorf("used %d, %v", m.Used, ret)
					return
				}
			}
		})
	}
	for i := range uint64(200) {
		a.Set("mem", gib+i*mib)
		b.Set("mem", gib-i*mib)
		// Both lines change in one Write, though Set is called twice.
		s.MustWrite(t)
	}
	close(stop)
	readers.Wait()
}

// Every mistake is named by file and line, and the last good state stays.
func TestMistakesInTheStateFile(t *testing.T) {
	gpu := "gpu uuid=GPU-0 profile=a100-40gb mig=1\nmig 0 uuid=MIG-1 gi=1 ci=0 profile=3g.20gb\n"
	mistakes := []struct{ line, want string }{
		{`gpu`, `:3: gpu line needs uuid=`},
		{`gpu uuid=0`, `:3: uuid=0: a GPU's UUID begins with GPU-`},
		{`gpu uuid=GPU-0`, `:3: uuid=GPU-0: line 1 has the same UUID`},
		{`gpu uuid=GPU-1 profile=h300`, `:3: profile=h300: no such device profile`},
		{`gpu uuid=GPU-1 profile=t4 mig=1`, `:3: profile t4 has no MIG`},
		{`gpu uuid=GPU-1 memory=5`, `:3: a gpu line has no key "memory"`},
		{`gpu uuid=GPU-1 mem=5 mem=6`, `:3: mem= is given twice`},
		{`gpu uuid=GPU-1 mem=5GB`, `:3: mem=5GB: unit "GB" is none of`},
		{`gpu uuid=GPU-1 mem=-5`, `:3: mem=-5: want a whole number`},
		{`gpu uuid=GPU-1 util=99999999999`, `:3: util=99999999999: number is too large`},
		{`gpu uuid=GPU-1 name="A100`, `:3: quote is not closed`},
		{`gpu uuid=GPU-1 compute_mode=shared`, `:3: compute_mode=shared: want one of default`},
		{`mig 0 uuid=MIG-2 gi=2 ci=0 profile=9g.90gb`, `:3: profile=9g.90gb: device profile a100-40gb has no such MIG profile`},
		{`mig 0 uuid=MIG-2 gi=2 ci=0 profile=3g.20gb start=1`, `:3: start=1: 3g.20gb cannot be placed there`},
		{`mig 0 uuid=MIG-2 gi=2 ci=0 profile=3g.20gb start=0`, `:3: start=0: memory slices are taken`},
		{`mig 0 uuid=MIG-2 gi=2 ci=0 profile=7g.40gb`, `:3: profile=7g.40gb: no room left`},
		{`mig 0 uuid=MIG-2 gi=1 ci=1 profile=1c.3g.20gb`, `:3: gi=1 has 3 compute slices, 3 are taken`},
		{`mig 0 uuid=MIG-2 gi=1 ci=0 profile=1c.3g.20gb`, `:3: gi=1 ci=0 is on line 2 already`},
		{`mig 3 uuid=MIG-2 gi=1 ci=0 profile=1c.3g.20gb`, `:3: gpu=3: no gpu line above has this index`},
		{`proc 0 pid=1 mem=5`, `:3: gpu 0 is in MIG mode: give gi= and ci=`},
		{`proc 0 pid=1 gi=1 ci=0`, `:3: proc line needs mem=`},
		{"proc 0 pid=1 mem=5 gi=1 ci=0\nproc 0 pid=1 mem=6 gi=1 ci=0", `:4: pid=1 is on this GPU on line 3 already`},
		{`proc 0 pid=1 mem=5 gi=1 ci=0 kind=vulkan`, `:3: kind=vulkan: want compute, graphics, mps`},
		{`event 0 xid=79`, `:3: event line needs seq=`},
		{`fault kind=gone`, `:3: kind=gone: no such fault`},
		{`fault kind=slow`, `:3: kind=slow: no such fault`},
		{`gpm 0 sm=much`, `:3: sm=much: want a number`},
		{`gpm 0 speed=1`, `:3: a gpm line has no key "speed"`},
		{`driver`, `:3: want one value: driver VERSION`},
		{`process 0`, `:3: no line begins with "process"`},
		{`uuid=GPU-1`, `:3: line begins with uuid=`},
	}
	for _, m := range mistakes {
		said := complaint(t, gpu+m.line+"\n")
		if !strings.Contains(said, m.want) {
			t.Errorf("%s\n said %q\n want %q", m.line, said, m.want)
		}
	}
	if said := complaint(t, gpu+"proc 0 pid=1 mem=5 gi=1 ci=0 # fine\n\n  # also fine\n"); said != "" {
		t.Errorf("no mistake, but: %s", said)
	}
}

// complaint starts the library with a state in a process of its own and returns
// what it prints to stderr.
func complaint(t *testing.T, state string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state")
	if err := os.WriteFile(path, []byte(state), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestMain$")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	cmd.Env = append(os.Environ(), mocknvml.EnvState+"="+path, "MOCKNVML_LOAD="+mocknvml.Build(t))
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, &stderr)
	}
	return stderr.String()
}

// TestMain lets the test program be the child of [complaint]: it loads the library
// and ends.
func TestMain(m *testing.M) {
	if library := os.Getenv("MOCKNVML_LOAD"); library != "" {
		lib := nvml.New(nvml.WithLibraryPath(library))
		if lib.Init() == nvml.SUCCESS {
			lib.Shutdown()
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestBadStateKeepsTheLastGoodOne(t *testing.T) {
	s := mocknvml.TestState(t)
	g := s.GPU("t4")
	d := device(t, load(t, s), 0)
	g.Set("uuid", "GPU-new").Set("nonsense", 1)
	s.MustWrite(t)
	if uuid := must[string](t)(d.GetUUID()); uuid != mocknvml.UUID(0) {
		t.Errorf("UUID %s", uuid)
	}
	if err := os.Remove(s.Path()); err != nil {
		t.Fatal(err)
	}
	must[string](t)(d.GetUUID())
}

func TestStateCannotBeWritten(t *testing.T) {
	s := mocknvml.NewState(filepath.Join(t.TempDir(), "none", "state"))
	if err := s.Write(); err == nil || !strings.HasPrefix(err.Error(), "write mock NVML state: ") {
		t.Errorf("got %v", err)
	}
}

// Whatever Go values a test puts into a state, the library reads them back as they are.
func FuzzStateRoundTrip(f *testing.F) {
	f.Add("Tesla T4", uint64(5))
	f.Add("a # b", uint64(1)<<40)
	f.Fuzz(func(t *testing.T, name string, bytes uint64) {
		if !plain(name) || bytes > 1<<50 {
			return // no text a state file can hold
		}
		s := mocknvml.TestState(t)
		s.Proc(s.GPU("t4", "serial="+name), 1, bytes)
		d := device(t, load(t, s), 0)
		if got := must[string](t)(d.GetSerial()); got != name {
			t.Errorf("serial %q, want %q", got, name)
		}
		if got := must[nvml.Memory_v2](t)(d.GetMemoryInfo_v2()).Used; got != bytes {
			t.Errorf("used %d, want %d", got, bytes)
		}
	})
}

// plain texts are what a value may be: NVML's shorter buffers, no quote, no control.
func plain(s string) bool {
	if len(s) == 0 || len(s) > 29 {
		return false
	}
	for _, r := range s {
		if r < ' ' || r > '~' || r == '"' {
			return false
		}
	}
	return true
}
