// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// TestLostFromTheStart: a GPU of which NVML never said anything can be read
// back. The agent writes minor -1 for it.
func TestLostFromTheStart(t *testing.T) {
	want := sample.Sample{
		Node: "node-a", NVML: sample.Library{OK: true},
		Devices: []sample.Device{{UUID: "node-a/1", Index: 1, Minor: -1, State: gpu.StateLost, Reason: "the GPU is lost"}},
	}
	text := write(t, []sample.Sample{want})
	f, err := Read(bytes.NewReader(text), "c")
	if err != nil {
		t.Fatal(err)
	}
	got := slices.Collect(f.Samples("node-a"))
	if len(got) != 1 {
		t.Fatalf("%d samples", len(got))
	}
	if diff := gocmp.Diff(want.Devices, got[0].Devices); diff != "" {
		t.Errorf("-written +read:\n%s", diff)
	}
	_, err = Read(strings.NewReader(strings.Replace(string(text), `"minor":-1`, `"minor":-2`, 1)), "c")
	if err == nil || !strings.Contains(err.Error(), "minor: is -2; write the N of /dev/nvidiaN, or -1") {
		t.Errorf("-2 gives %v", err)
	}
}
