// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
)

// recorded is a source of given samples.
type recorded []sample.Sample

func (r recorded) Samples(string) iter.Seq[sample.Sample] { return slices.Values(r) }

var start = time.Date(2026, 11, 3, 10, 0, 0, 0, time.UTC)

// history is one GPU of 1000 MiB every 5 s for a minute: the host holds 100
// MiB; from the second half on, NVML does not say how much; at the end the GPU
// is lost.
func history() recorded {
	var out recorded
	for i := range 13 {
		d := sample.Device{
			UUID: "GPU-1", State: gpu.StateOK, Name: "T",
			Memory:    &sample.Memory{Total: 1000 * gpu.MiB, Reserved: 10 * gpu.MiB, Used: 100 * gpu.MiB},
			Processes: []sample.Held{{PID: 1, Kind: sample.KindCompute, Bytes: new(uint64(100 * gpu.MiB))}},
		}
		if i >= 12 {
			d = sample.Device{UUID: "GPU-1", State: gpu.StateLost, Reason: "off the bus"}
		}
		ms := int64(i) * 5000
		out = append(out, sample.Sample{
			Node: "n", At: start.Add(time.Duration(ms) * time.Millisecond), MonoMS: 7000 + ms, NVML: sample.Library{OK: true},
			Grants: sample.Grants{Readable: true}, Objects: sample.Objects{Known: true}, Devices: []sample.Device{d},
			Processes: map[int]sample.Process{1: {Cgroup: "0::/system.slice/trainer.service"}},
		})
	}
	return out
}

func run(t *testing.T, src Source, at time.Duration) Report {
	t.Helper()
	rep, err := Run(src, "n", Options{Interval: 5 * time.Second, MonoMS: 7000, At: at})
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestRunStopsAtTheMoment(t *testing.T) {
	for _, tc := range []struct {
		at   time.Duration
		want int64
	}{{0, 0}, {7 * time.Second, 5000}, {time.Minute, 60000}, {time.Hour, 60000}} {
		if rep := run(t, history(), tc.at); rep.Moment == nil || rep.OffsetMS != tc.want || !rep.Moment.At.Equal(start.Add(time.Duration(tc.want)*time.Millisecond)) {
			t.Errorf("moment %v is at %d ms, want %d", tc.at, rep.OffsetMS, tc.want)
		}
	}
	if rep := run(t, history(), -time.Second); rep.Moment != nil || rep.Samples != 13 {
		t.Errorf("before the first sample there is a moment: %+v", rep.Moment)
	}
}

func TestRunShowsEverySample(t *testing.T) {
	var offsets []int64
	_, err := Run(history()[:3], "n", Options{Interval: 5 * time.Second, MonoMS: 7000, Watch: func(offset int64, s sample.Sample, r attribution.Result) {
		offsets = append(offsets, offset)
		if s.MonoMS != r.MonoMS {
			t.Errorf("sample at %d is shown with the result at %d", s.MonoMS, r.MonoMS)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]int64{0, 5000, 10000}, offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestTimeBeforeTheWindowIsNotCounted(t *testing.T) {
	rep, err := Run(history()[:12], "n", Options{Interval: 5 * time.Second, MonoMS: 7000 + 35000})
	if err != nil {
		t.Fatal(err)
	}
	if total := sumUp(rep.Batches)[gpu.Whole("GPU-1")]; total.measuredMS != 20000 || rep.Samples != 12 {
		t.Errorf("counted %d ms of %d samples, want 20000 of 12", total.measuredMS, rep.Samples)
	}
}

func table(t *testing.T, rep Report) string {
	t.Helper()
	var b strings.Builder
	if err := WriteTable(&b, rep); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestTableOfALostGPU(t *testing.T) {
	got := table(t, run(t, history(), time.Minute))
	for _, want := range []string{
		"NODE n: 13 samples, 1 window\n",
		"MEMORY at 2026-11-03T10:01:00Z (+1m), in MiB\n",
		"  unavailable: off the bus\n",
		"  host trainer.service ",
		"  measured 1m",
		"external_process host trainer.service pid 1",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the table lacks %q:\n%s", want, got)
		}
	}
}

func TestTableSaysUnknown(t *testing.T) {
	h := history()[:12]
	for i := range h {
		d := h[i].Devices[0]
		d.Memory, d.Processes = nil, []sample.Held{{PID: 1, Kind: sample.KindCompute}}
		h[i].Devices = []sample.Device{d}
	}
	got := table(t, run(t, h, 0))
	if !strings.Contains(got, "host trainer.service                           unknown") || strings.Contains(got, " 0  ") {
		t.Errorf("a size that nobody knows is not called unknown:\n%s", got)
	}
	if got := table(t, run(t, recorded{}, 0)); !strings.Contains(got, "NODE n: 0 samples, 0 windows\n\nMEMORY: nothing was sampled up to that moment\n\nFINDINGS: none\n") {
		t.Errorf("a node without samples shows\n%s", got)
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

var errFull = &fullError{}

type fullError struct{}

func (*fullError) Error() string { return "no space left on device" }

func TestTableReportsAWriteError(t *testing.T) {
	if err := WriteTable(full{}, run(t, history(), 0)); err != errFull {
		t.Errorf("error is %v", err)
	}
}

func TestWords(t *testing.T) {
	for _, tc := range []struct{ got, want string }{
		{mib(nil), "unknown"}, {mib(new(uint64(0))), "0"}, {mib(new(uint64(1234567 * gpu.MiB))), "1,234,567"}, {mib(new(uint64(gpu.MiB + gpu.MiB/2))), "1.5"},
		{thousands("1"), "1"}, {thousands("123"), "123"}, {thousands("1234"), "1,234"},
		{span(0), "0s"}, {span(60000), "1m"}, {span(3600000), "1h"}, {span(3900000), "1h5m"}, {span(61500), "1m1.5s"}, {span(36005000), "10h0m5s"},
		{shorten("abcdef", 6), "abcdef"}, {shorten("abcdefg", 6), "ab…efg"}, {shorten("äöüßäöü", 6), "äö…äöü"},
		{percent(new(uint64(1)), nil), ""}, {percent(new(uint64(1)), new(uint64(8))), "12.5 %"},
		{count(1, "window"), "1 window"}, {count(2000, "window"), "2,000 windows"},
	} {
		if tc.got != tc.want {
			t.Errorf("got %q, want %q", tc.got, tc.want)
		}
	}
}
