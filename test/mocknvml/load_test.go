// SPDX-License-Identifier: Apache-2.0

package mocknvml_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/gputally/gputally/test/mocknvml"
)

const (
	mib = uint64(1) << 20
	gib = uint64(1) << 30
)

// load starts the mock library with a state and stops it when the test ends.
// Tests here do not run in parallel: go-nvml has one library per process.
func load(t *testing.T, s *mocknvml.State) nvml.Interface {
	t.Helper()
	s.MustWrite(t)
	lib := nvml.New(nvml.WithLibraryPath(mocknvml.Build(t)))
	want(t, lib.Init(), nvml.SUCCESS)
	t.Cleanup(func() {
		if ret := lib.Shutdown(); ret != nvml.SUCCESS {
			t.Errorf("Shutdown: %v", ret)
		}
	})
	return lib
}

// device is the handle of a GPU by index.
func device(t *testing.T, lib nvml.Interface, index int) nvml.Device {
	t.Helper()
	d, ret := lib.DeviceGetHandleByIndex(index)
	want(t, ret, nvml.SUCCESS)
	return d
}

func want(t *testing.T, got, want nvml.Return) {
	t.Helper()
	if got != want {
		t.Fatalf("got %d (%s), want %d (%s)", int32(got), nvml.ErrorString(got), int32(want), nvml.ErrorString(want))
	}
}

// must is the value of a call that has to succeed.
func must[T any](t *testing.T) func(T, nvml.Return) T {
	return func(v T, ret nvml.Return) T {
		t.Helper()
		want(t, ret, nvml.SUCCESS)
		return v
	}
}

// text is a C string in a fixed array.
func text(array []int8) string {
	var b []byte
	for _, c := range array {
		if c == 0 {
			break
		}
		b = append(b, byte(c))
	}
	return string(b)
}

// goNVML is the folder of the go-nvml module.
func goNVML(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/NVIDIA/go-nvml").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}
