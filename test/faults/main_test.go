// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// program is the agent, library the mock NVML library; built before all tests.
var program, library string

func TestMain(m *testing.M) {
	stage.HolderMain()
	code, err := runAll(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runAll(m *testing.M) (int, error) {
	dir, err := os.MkdirTemp("", "gputally-faults-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "gputally-agent")
	build := exec.Command("go", "build", "-o", program, "github.com/gputally/gputally/cmd/gputally-agent")
	if out, err := build.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("build the agent: %w\n%s", err, out)
	}
	if library, err = mocknvml.BuildLibrary(); err != nil {
		return 0, fmt.Errorf("build the mock library: %w", err)
	}
	// The tests wait more than they work: none holds another up.
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil {
		return 0, err
	}
	return m.Run(), nil
}
