// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/app/replay"
	"github.com/gputally/gputally/internal/core/attribution"
)

// TestAWrittenCaptureGivesTheSameRecords: what an agent would write while it
// sees a scenario, replayed, gives byte-identical records.
func TestAWrittenCaptureGivesTheSameRecords(t *testing.T) {
	files, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in testdata: %v", err)
	}
	for _, file := range files {
		f := read(t, file)
		f.Interval = time.Minute // fewer samples, the same entries
		for _, node := range f.Nodes {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml")+"/"+node.Name, func(t *testing.T) {
				t.Parallel()
				want := records(t, f, node.Name, f.MonoMS())
				got := records(t, written(t, f, node.Name), node.Name, f.MonoMS())
				if !bytes.Equal(want, got) {
					t.Errorf("the records differ (-story +written):\n%s", firstDifference(want, got))
				}
			})
		}
	}
}

// written is the capture that an agent would write.
func written(t *testing.T, f *capture.File, node string) *capture.File {
	t.Helper()
	var b bytes.Buffer
	w := capture.NewWriter(&b)
	w.Interval = f.Interval
	n := 0
	for s := range f.Samples(node) {
		n++
		if err := w.Write(s); err != nil {
			t.Fatal(err)
		}
	}
	if n == 0 {
		t.Skip("nothing is known of this node")
	}
	again, err := capture.Read(&b, "written")
	if err != nil {
		t.Fatal(err)
	}
	return again
}

func firstDifference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	around := func(s []byte) []byte { return s[max(0, i-200):min(len(s), i+200)] }
	return fmt.Sprintf("-%s\n+%s", around(a), around(b))
}

// records are the records of the time from monoMS on, as JSON.
func records(t *testing.T, f *capture.File, node string, monoMS int64) []byte {
	t.Helper()
	rep, err := replay.Run(f, node, replay.Options{
		Policy: attribution.Policy{Daemons: attribution.DefaultDaemons()}, Interval: f.Interval, MonoMS: monoMS,
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(rep.Batches)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
