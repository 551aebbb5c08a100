// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gputally/gputally/test/mocknvml"
)

var agentProgram string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "gpucheck-test")
	if err != nil {
		panic(err)
	}
	agentProgram = filepath.Join(dir, "gputally-agent")
	if out, err := exec.Command("go", "build", "-o", agentProgram, "../../cmd/gputally-agent").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the agent: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// The check itself, over the mock in place of a GPU, with a program that
// writes its allocation into the mock's state: it must find what is there.
func TestFindsWhatIsAllocated(t *testing.T) {
	t.Parallel()
	o := stage(t, "$((mib * 1048576 + 314572800))")
	if err := run(o); err != nil {
		t.Fatal(err)
	}
	text := read(t, o.out)
	for _, want := range []string{"three processes on one GPU", "failed: 0", "for 3584 MiB asked: 300.0 MiB a process beyond it", "= capacity"} {
		if !strings.Contains(text, want) {
			t.Errorf("the report lacks %q:\n%s", want, text)
		}
	}
}

// And it must fail when the GPU shows less than was allocated.
func TestFailsWhereMemoryIsMissing(t *testing.T) {
	t.Parallel()
	o := stage(t, "1048576")
	if err := run(o); err == nil || !strings.Contains(err.Error(), "checks failed") {
		t.Fatalf("run says %v, want failed checks\n%s", err, read(t, o.out))
	}
}

// stage prepares an agent, the mock library and a stand-in for hold, whose
// processes hold the given shell expression of bytes.
func stage(t *testing.T, bytes string) options {
	t.Helper()
	dir := t.TempDir()
	state := filepath.Join(dir, "state")
	write(t, state, "option reap=1\ngpu uuid=GPU-00000000-0000-4000-8000-000000000001 profile=h200\n", 0o644)
	hold := filepath.Join(dir, "hold")
	write(t, hold, fmt.Sprintf(`#!/bin/sh
mib=$2
flock %[1]s.lock sh -c "{ cat %[1]s; echo proc gpu=0 pid=$$ mem=%[2]s; } > %[1]s.new && mv %[1]s.new %[1]s"
echo "ready $$ $((mib * 1048576))"
cat > /dev/null
`, state, bytes), 0o755)
	library := mocknvml.Build(t)
	return options{agent: agentProgram, hold: hold, nvml: library, state: state, mock: library, out: filepath.Join(dir, "report.md")}
}

func write(t *testing.T, file, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
