// SPDX-License-Identifier: Apache-2.0

package expect

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

func mibs(n uint64) *uint64 { return new(n * gpu.MiB) }

func podNamed(namespace, name, container string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, PodUID: "uid-" + name, Namespace: namespace, Pod: name, Container: container}
}

// shownResult is one GPU of 1000 MiB: two containers of a/p hold 100 and 50, b/q leaks
// 200, a daemon holds 10, the host 20, an unknown owner 30.
func shownResult() attribution.Result {
	train := podNamed("a", "p", "c1")
	side := podNamed("a", "p", "c2")
	leaker := podNamed("b", "q", "c")
	return attribution.Result{
		Node: "n",
		Partitions: []attribution.Partition{{
			ID: gpu.Whole("GPU-1"), Names: []gpu.UUID{"GPU-1"}, State: gpu.StateOK, Grade: gpu.Measured,
			Capacity: mibs(1000), Reserved: mibs(40), Used: mibs(415), Unattributed: mibs(5), Free: mibs(545),
			Holdings: []attribution.Holding{
				{Holder: train, Bytes: mibs(100), Grade: gpu.Measured}, {Holder: side, Bytes: mibs(50), Grade: gpu.Measured},
				{Holder: leaker, Bytes: mibs(200), Grade: gpu.Estimated, Leak: true},
				{Holder: workload.Holder{Kind: workload.KindDaemon}, Bytes: mibs(10)},
				{Holder: workload.Holder{Kind: workload.KindHost}, Bytes: mibs(20)},
				{Holder: workload.Holder{Kind: workload.KindUnknown}, Bytes: mibs(30)},
			},
			Grants: []attribution.Grant{{Holder: podNamed("a", "p", "")}},
		}, {
			ID: gpu.Whole("GPU-2"), Names: []gpu.UUID{"GPU-2"}, State: gpu.StateHung, Grade: gpu.Unmeasured,
			Grants: []attribution.Grant{{Holder: podNamed("a", "hung", "")}},
		}},
		Findings: []attribution.Finding{{
			Kind: attribution.UnallocatedUse, Severity: attribution.Critical, Holder: leaker, Partition: "GPU-1",
			Victims: []string{"a/p"}, Bytes: mibs(200), Count: 1, PID: 7, Detail: "leaks",
		}},
		Identities: map[int]attribution.Identity{
			1: {Holder: train, ContainerID: "id"}, 2: {Holder: workload.Holder{Kind: workload.KindHost}},
		},
	}
}

func failures(t *testing.T, want string) []string {
	t.Helper()
	var e Expect
	if err := json.Unmarshal([]byte(want), &e); err != nil {
		t.Fatal(err)
	}
	c := NewChecker(&e, time.Time{})
	s := sample.Sample{Node: "n", Devices: []sample.Device{{Processes: []sample.Held{{PID: 1}, {PID: 2, Bytes: mibs(1)}}}}}
	c.Show(0, s, shownResult())
	later := shownResult()
	later.Partitions[0].Holdings[0].Bytes = mibs(999)
	c.Show(601000, s, later)
	return c.Failures()
}

const leak = `"allowed_findings": [{"kind": "unallocated_gpu_use"}]`

func TestWhatHolds(t *testing.T) {
	for _, want := range []string{
		`{"splits": [{"at": 600, "partition": "GPU-1", "holders": {"a/p": 150}, "leaks": {"b/q": 200}, "daemons_mib": 10, "host_mib": 20, "unknown_mib": 30,
		  "unattributed_mib": 5, "reserved_mib": 40, "free_mib": 545}], ` + leak + `}`,
		`{"findings": [{"kind": "unallocated_gpu_use", "pod": "b/q", "partition": "GPU-1", "victim": "a/p", "by_mib": 200, "foreign": 1, "pid": 7, "node": "n"}]}`,
		`{"absent_findings": [{"kind": "exposure"}, {"kind": "unallocated_gpu_use", "pod": "a/p"}], ` + leak + `}`,
		`{"nulls": ["GPU-2 memory at 5", "a/hung memory at 5", "pid 1 memory at 5"], ` + leak + `}`,
		`{"grades": {"a/p": "measured", "b/q": "estimated", "a/hung": "unmeasured"}, ` + leak + `}`,
		`{"identities": {"1": "uid-p/id", "2": "host"}, ` + leak + `}`,
		`{"must": ["words"], "money": {"anything": 1}, "owners": null, ` + leak + `}`,
	} {
		if got := failures(t, want); len(got) > 0 {
			t.Errorf("%s\nfails: %v", want, got)
		}
	}
}

// TestWhatDoesNotHold: every expectation can fail, and says how.
func TestWhatDoesNotHold(t *testing.T) {
	for _, tc := range []struct{ want, failure string }{
		{`{"splits": [{"at": 600, "partition": "GPU-9"}]}`, "there is no partition GPU-9"},
		{`{"splits": [{"at": -1, "partition": "GPU-1"}]}`, "there is no partition GPU-1"},
		{`{"splits": [{"at": 700, "partition": "GPU-1", "holders": {"a/p": 150}}]}`, "holder a/p is 1049, expected 150"},
		{`{"splits": [{"at": 0, "partition": "GPU-1", "holders": {"a/x": 1}}]}`, "holder a/x is missing, expected 1"},
		{`{"splits": [{"at": 0, "partition": "GPU-1"}]}`, "holder a/p is 150, expected nothing"},
		{`{"splits": [{"at": 0, "partition": "GPU-1"}]}`, "leak b/q is 200, expected nothing"},
		{`{"splits": [{"at": 0, "partition": "GPU-1"}]}`, "daemons_mib is 10, expected 0"},
		{`{"splits": [{"at": 0, "partition": "GPU-1"}]}`, "host_mib is 20, expected 0"},
		{`{"splits": [{"at": 0, "partition": "GPU-1"}]}`, "unknown_mib is 30, expected 0"},
		{`{"splits": [{"at": 0, "partition": "GPU-1", "unattributed_mib": 6}]}`, "unattributed_mib is 5, expected 6"},
		{`{"splits": [{"at": 0, "partition": "GPU-1", "free_mib": 6}]}`, "free_mib is 545, expected 6"},
		{`{"splits": [{"at": 0, "partition": "GPU-2", "free_mib": 0}]}`, "free_mib is unknown, expected 0"},
		{`{"findings": [{"kind": "exposure"}]}`, `finding {"kind":"exposure"} does not occur`},
		{`{"findings": [{"kind": "unallocated_gpu_use", "victim": "b/q"}]}`, "does not occur"},
		{`{"findings": [{"kind": "unallocated_gpu_use", "by_mib": 199}]}`, "does not occur"},
		{`{"findings": [{"kind": "unallocated_gpu_use", "partitions": ["GPU-1"]}]}`, "does not occur"},
		{`{"absent_findings": [{"kind": "unallocated_gpu_use", "pid": 7}]}`, "occurs, but must not: leaks"},
		{`{}`, "finding unallocated_gpu_use (critical) of b/q on GPU-1 is neither expected nor allowed: leaks"},
		{`{"nulls": ["GPU-1 memory at 5"]}`, "the memory of GPU-1 is known at 5"},
		{`{"nulls": ["a/p memory at 5"]}`, "the memory of a/p is known at 5"},
		{`{"nulls": ["pid 2 memory at 5"]}`, "the memory of pid 2 is known at 5"},
		{`{"nulls": ["pid 3 memory at 5"]}`, "pid 3 is not seen at 5"},
		{`{"grades": {"a/p": "derived"}}`, "grade of a/p is [measured], expected derived"},
		{`{"grades": {"a/none": "derived"}}`, "grade of a/none is [], expected derived"},
		{`{"identities": {"1": "host"}}`, `identity of pid 1 is "uid-p/id", expected "host"`},
	} {
		if got := strings.Join(failures(t, tc.want), "\n"); !strings.Contains(got, tc.failure) {
			t.Errorf("%s\nfails with\n%s\nwant\n%s", tc.want, got, tc.failure)
		}
	}
}

func TestExpectIsWrittenAsItIsRead(t *testing.T) {
	var e, again Expect
	text := `{"splits":[{"at":1.5,"partition":"GPU-1"}],"nulls":["a/p memory at 600"]}`
	if err := json.Unmarshal([]byte(text), &e); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	if string(b) != text {
		t.Errorf("written as %s, want %s", b, text)
	}
	if err := json.Unmarshal(b, &again); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	for _, bad := range []string{`{"nulls":["a/p"]}`, `{"nulls":["a/p memory at noon"]}`, `{"splits":[{"at":"x"}]}`} {
		if err := json.Unmarshal([]byte(bad), &e); err == nil {
			t.Errorf("%s is read without an error", bad)
		}
	}
}

func TestAStepOfTheClockIsAFinding(t *testing.T) {
	step := []usage.Batch{{Findings: []usage.FindingRecord{{Finding: attribution.Finding{Kind: attribution.ClockStep, Count: -3600000, Detail: "stepped"}}}}}
	for _, tc := range []struct {
		want     Expect
		failures int
	}{
		{Expect{}, 1},
		{Expect{Findings: []Finding{{Kind: "clock_step", Foreign: new(int64(-3600000)), Node: "n"}}}, 0},
		{Expect{Findings: []Finding{{Kind: "clock_step", Node: "m"}}}, 2},
	} {
		c := NewChecker(&tc.want, time.Time{})
		c.Closed("n", step)
		if got := c.Failures(); len(got) != tc.failures {
			t.Errorf("%v: %d failures, want %d: %v", tc.want.Findings, len(got), tc.failures, got)
		}
	}
}
