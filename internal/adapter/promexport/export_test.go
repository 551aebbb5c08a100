// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func p[T any](v T) *T { return &v }

const gib = 1 << 30

func pod(name string) workload.Holder {
	return workload.Holder{Kind: workload.KindPod, Namespace: "team", Pod: name, PodUID: "uid-" + name, Container: "main"}
}

// full is a state in which every metric has a series.
func full() State {
	whole := attribution.Partition{
		ID: gpu.Whole("GPU-0"), State: gpu.StateOK, Names: []gpu.UUID{"GPU-0"}, Model: "Test", Slot: "0000:07:00.0",
		Mode: gpu.ModeTimeSlicing, Replicas: p(int64(4)), GrantsKnown: true, Grade: gpu.Measured, SignalsGrade: gpu.Indivisible,
		Capacity: p(uint64(40 * gib)), Reserved: p(uint64(gib)), Used: p(uint64(12 * gib)), Unattributed: p(uint64(1 * gib)), Free: p(uint64(27 * gib)),
		Holdings: []attribution.Holding{
			{Holder: pod("a"), Bytes: p(uint64(10 * gib)), Grade: gpu.Measured, SM: p(0.5), SMGrade: gpu.Estimated},
			{Holder: pod("b"), Grade: gpu.Unmeasured},
			{Holder: workload.Holder{Kind: workload.KindUnknown}, Bytes: p(uint64(gib)), Grade: gpu.Measured},
		},
		Grants:  []attribution.Grant{{Holder: pod("a"), Source: "kubelet", Resource: "nvidia.com/gpu", Mode: gpu.ModeTimeSlicing, ReservedBytes: p(uint64(0)), LimitBytes: p(uint64(20 * gib))}},
		Signals: sample.Signals{Busy: p(0.97), FP16Active: p(0.25), PCIeRxPerS: p(uint64(2_500_000_000))},
		Power: sample.Power{PowerMW: p(uint64(250000)), LimitMW: p(uint64(400000)), EnergyMJ: p(uint64(5000)),
			TemperatureC: p(uint64(60)), SMClockMHz: p(uint64(1410)), ClocksEventSet: p(uint64(4))},
	}
	parent := attribution.Partition{ID: gpu.Whole("GPU-1"), State: gpu.StateOK, MIGParent: true, StrandedSlices: 1, Mode: gpu.ModeMIG}
	slice := attribution.Partition{ID: gpu.PartitionID{Device: "GPU-1", Instance: 7, SinceMS: 9}, State: gpu.StateHung, Reason: "no answer",
		Names: []gpu.UUID{"MIG-1", "MIG-2"}, Profile: "1g.5gb", Mode: gpu.ModeMIG}
	s := State{
		Version: "v1", AgentID: "id", Cluster: "c", Node: "n", Interval: 5 * time.Second,
		Result: &attribution.Result{
			NVML:       sample.Library{OK: true, DriverVersion: "570.1", NVMLVersion: "12.570", CUDAVersion: 12080},
			Partitions: []attribution.Partition{whole, parent, slice},
			Findings: []attribution.Finding{
				{Kind: attribution.OverLimit, Severity: attribution.Warning, Holder: pod("a"), Partition: "GPU-0"},
				{Kind: attribution.OverLimit, Severity: attribution.Warning, Holder: pod("a"), Partition: "GPU-0"},
				{Kind: attribution.OrphanedMemory, Severity: attribution.Info, Partition: "GPU-1/gi7@9"},
			},
			Pods: []attribution.PodResult{{Holder: workload.Holder{Namespace: "team", Pod: "a", PodUID: "uid-a"}, CPUNanos: new(uint64(2e9)), MemoryBytes: new(uint64(gib))},
				{Holder: workload.Holder{Namespace: "team", Pod: "unread", PodUID: "uid-unread"}}},
			Engines: []attribution.Engine{
				{Holder: pod("a"), Reading: sample.EngineReading{Engine: "vllm", Model: "llama", PoolUse: p(0.25), PoolBytes: p(uint64(8 * gib)), PoolTokens: p(uint64(65536)),
					LoadedBytes: p(uint64(0)), Running: p(uint64(3)), Waiting: p(uint64(0)), Preemptions: p(uint64(4)), PrefixHits: p(uint64(5)), PrefixQueries: p(uint64(50)), PrefixHitRate: p(0.1)}},
				{Holder: pod("c"), Problem: "timeout"}},
			Sources: map[string]sample.SourceStatus{"nvml": {OK: true, DurationUS: 1500}, "kubernetes": {StaleMS: 90000}},
		},
		Totals: []Total{{Partition: gpu.Whole("GPU-0"), Holder: pod("a")}},
		Loop: Loop{Samples: 9, MissedTicks: 1, Windows: 2, Failures: map[string]uint64{"kubernetes": 3}, LastSample: time.Unix(1764600000, 0),
			LastDuration: 20 * time.Millisecond, Busy: time.Second, Events: []Event{{Device: "GPU-0", Kind: "xid", XID: 79, Count: 1}}},
		Spool: Spool{Bytes: 1000, MaxBytes: 2000, Unacked: 2, Pending: 1, Problems: 1, DroppedBatches: 4, WriteFailures: 5},
		Ship:  &Ship{Sent: 11, Durable: 10, Refused: 1, Waiting: 2, Failures: 3, Damaged: 1, Lost: 1, Rewinds: 1, LastSuccess: time.Unix(1764600000, 0)},
	}
	s.Totals[0].ByteMS.Add(3_000_000)
	return s
}

func scrape(t *testing.T, s State, accept string) string {
	t.Helper()
	h, err := Handler(func() State { return s })
	if err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	req := httptest.NewRequest(http.MethodGet, "/metrics", nil)
	req.Header.Set("Accept", accept)
	h.ServeHTTP(rec, req)
	if rec.Code != http.StatusOK {
		t.Fatalf("scrape: %d %s", rec.Code, rec.Body)
	}
	return rec.Body.String()
}

func TestSeries(t *testing.T) {
	text := scrape(t, full(), "")
	const holder = `holder_kind="pod",partition="whole",workload_container="main",workload_namespace="team",workload_pod="a",workload_uid="uid-a",workload_unit=""`
	for _, line := range []string{
		`gputally_memory_used_bytes{gpu_uuid="GPU-0",grade="measured",` + holder + `} 1.073741824e+10`,
		`gputally_memory_byte_seconds_total{gpu_uuid="GPU-0",` + holder + `} 3000`,
		`gputally_memory_reserved_bytes{gpu_uuid="GPU-0",mode="time-slicing",partition="whole",resource="nvidia.com/gpu",source="kubelet",workload_namespace="team",workload_pod="a",workload_uid="uid-a"} 0`,
		`gputally_partition_memory_bytes{class="used",gpu_uuid="GPU-0",grade="measured",partition="whole"} 1.073741824e+10`,
		`gputally_partition_memory_bytes{class="unattributed",gpu_uuid="GPU-0",grade="measured",partition="whole"} 2.147483648e+09`,
		`gputally_partition_state{gpu_uuid="GPU-1",partition="gi7@9",state="hung"} 1`,
		`gputally_partition_info{gpu_uuid="GPU-1",index="0",mig_uuid="MIG-1,MIG-2",minor="0",model="",partition="gi7@9",pci_bus_id="",profile="1g.5gb"} 1`,
		`gputally_partition_stranded_memory_slices{gpu_uuid="GPU-1",partition="whole"} 1`,
		`gputally_signal_ratio{gpu_uuid="GPU-0",grade="indivisible",partition="whole",signal="busy"} 0.97`,
		`gputally_signal_ratio{gpu_uuid="GPU-0",grade="indivisible",partition="whole",signal="fp16_active"} 0.25`,
		`gputally_pcie_bytes_per_second{direction="rx",gpu_uuid="GPU-0",grade="indivisible",partition="whole"} 2.5e+09`,
		`gputally_engine_info{engine="vllm",model="llama",workload_container="main",workload_namespace="team",workload_pod="a",workload_uid="uid-a"} 1`,
		`gputally_engine_pool_used_ratio{workload_container="main",workload_namespace="team",workload_pod="a",workload_uid="uid-a"} 0.25`,
		`gputally_engine_requests{state="waiting",workload_container="main",workload_namespace="team",workload_pod="a",workload_uid="uid-a"} 0`,
		`gputally_engine_preemptions_total{workload_container="main",workload_namespace="team",workload_pod="a",workload_uid="uid-a"} 4`,
		`gputally_engine_problem{problem="timeout",workload_container="main",workload_namespace="team",workload_pod="c",workload_uid="uid-c"} 1`,
		`gputally_findings{kind="over_limit"} 2`,
		`gputally_findings{kind="exposure"} 0`,
		`gputally_power_watts{gpu_uuid="GPU-0"} 250`,
		`gputally_sm_clock_hertz{gpu_uuid="GPU-0"} 1.41e+09`,
		`gputally_energy_joules_total{gpu_uuid="GPU-0"} 5`,
		`gputally_device_events_total{gpu_uuid="GPU-0",kind="xid",xid="79"} 1`,
		`gputally_source_up{source="kubernetes"} 0`,
		`gputally_source_stale_seconds{source="kubernetes"} 90`,
		`gputally_source_failures_total{source="kubernetes"} 3`,
		`gputally_nvml_info{cuda_version="12.8",driver_version="570.1",nvml_version="12.570"} 1`,
		`gputally_spool_dropped_batches_total 4`,
		`gputally_ship_up 1`,
		`gputally_ship_last_success_timestamp_seconds 1.7646e+09`,
		`gputally_ship_sent_batches_total 11`,
		`gputally_ship_durable_batches_total 10`,
		`gputally_ship_refused_batches_total 1`,
		`gputally_ship_waiting_batches 2`,
		`gputally_ship_failures_total 3`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line\n  %s", line)
		}
	}
}

func TestUnknownHasNoSeries(t *testing.T) {
	text := scrape(t, full(), "")
	for _, never := range []string{
		`workload_pod="b"`,                           // a holding of unknown size
		`gputally_partition_grants{gpu_uuid="GPU-1"`, // grants not known
		`gputally_partition_memory_bytes{class="free",gpu_uuid="GPU-1"`,
		`signal="sm_active"`,
		`gputally_power_watts{gpu_uuid="GPU-1"}`,
	} {
		if strings.Contains(text, never) {
			t.Errorf("there is a series with %s", never)
		}
	}
	s := full()
	s.Result.NVML.OK = false
	if text := scrape(t, s, ""); strings.Contains(text, `gputally_findings{kind="exposure"}`) {
		t.Error("no exposure is claimed although nobody could look")
	}
	s.Ship = &Ship{}
	if text := scrape(t, s, ""); strings.Contains(text, "gputally_ship_up") || strings.Contains(text, "gputally_ship_last") || !strings.Contains(text, "gputally_ship_sent_batches_total 0") {
		t.Error("before the first try: want counts, and no word on whether it works")
	}
	s.Ship = &Ship{Failing: true, Failures: 1}
	if text := scrape(t, s, ""); !strings.Contains(text, "gputally_ship_up 0\n") {
		t.Error("a server that is away is not shown")
	}
	s.Ship = nil
	if text := scrape(t, s, ""); strings.Contains(text, "gputally_ship") {
		t.Error("series of shipping where nothing is shipped")
	}
	s.Result = nil
	if text := scrape(t, s, ""); strings.Contains(text, "gputally_agent_samples_total") || !strings.Contains(text, "gputally_spool_bytes 1000") {
		t.Error("before the first sample: want the spool, and nothing of samples")
	}
}

// Every metric of the list appears in the full state, nothing else does, each
// with the list's type, and Prometheus' own linter has no complaint.
func TestListIsWhatIsServed(t *testing.T) {
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(NewCollector(full)); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	served := map[string]string{}
	for _, f := range families {
		served[f.GetName()] = strings.ToLower(f.GetType().String())
	}
	listed := map[string]string{}
	for _, m := range Metrics() {
		kind := string(m.Kind)
		if m.Kind == Info {
			kind = "gauge"
		}
		listed[m.Name] = kind
	}
	if diff := cmp.Diff(listed, served); diff != "" {
		t.Errorf("list and /metrics differ (-list +served):\n%s", diff)
	}
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range problems {
		t.Errorf("lint: %s: %s", l.Metric, l.Text)
	}
}

// A scraper that does not honour labels renames those it sets itself; one that
// does lets ours win over its own. Neither happens to a label it never sets.
func TestLabelsDoNotCollideWithTheScrapers(t *testing.T) {
	reserved := []string{"job", "instance", "namespace", "pod", "container", "node", "service", "endpoint", "cluster_name", "le", "quantile"}
	for _, m := range Metrics() {
		for _, l := range m.Labels {
			for _, r := range reserved {
				if l == r {
					t.Errorf("%s has the label %s", m.Name, l)
				}
			}
		}
	}
}

func TestOpenMetrics(t *testing.T) {
	text := scrape(t, full(), "application/openmetrics-text; version=1.0.0")
	for _, want := range []string{"# TYPE gputally_memory_byte_seconds counter\n", "# EOF\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the OpenMetrics answer", want)
		}
	}
}

func TestClassesSumToTheCapacity(t *testing.T) {
	whole := full().Result.Partitions[0]
	sum := *whole.Reserved + *whole.Unattributed + *whole.Free
	for _, h := range whole.Holdings {
		if h.Bytes != nil {
			sum += *h.Bytes
		}
	}
	if sum != *whole.Capacity {
		t.Fatalf("the example itself does not balance: %d of %d", sum, *whole.Capacity)
	}
	reg := prometheus.NewRegistry()
	reg.MustRegister(NewCollector(full))
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var classes, capacity float64
	for _, f := range families {
		for _, m := range f.GetMetric() {
			switch f.GetName() {
			case "gputally_partition_memory_bytes":
				classes += m.GetGauge().GetValue()
			case "gputally_partition_memory_capacity_bytes":
				capacity += m.GetGauge().GetValue()
			}
		}
	}
	if classes != capacity {
		t.Errorf("classes sum to %.0f, capacity is %.0f", classes, capacity)
	}
}

// TestUnknownReserveHasNoSeries: what the driver does not tell has no series, and
// the other classes still sum to the capacity.
func TestUnknownReserveHasNoSeries(t *testing.T) {
	s := full()
	whole := &s.Result.Partitions[0]
	*whole.Unattributed += *whole.Reserved
	whole.Reserved, whole.ReserveUnknown, whole.Grade = p(uint64(0)), true, gpu.Estimated
	sum := 0.0
	for line := range strings.Lines(scrape(t, s, "")) {
		if !strings.HasPrefix(line, "gputally_partition_memory_bytes{") {
			continue
		}
		if strings.Contains(line, `class="reserved"`) || !strings.Contains(line, `grade="estimated"`) {
			t.Errorf("series %s; want no reserve, and all estimated", line)
		}
		fields := strings.Fields(line)
		v, err := strconv.ParseFloat(fields[len(fields)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		sum += v
	}
	if sum != float64(*whole.Capacity) {
		t.Errorf("classes sum to %.0f of %d", sum, *whole.Capacity)
	}
}

func TestDocsAreCurrent(t *testing.T) {
	for lang, path := range map[string]string{"en": "../../../docs/metrics.md", "zh": "../../../docs/zh/metrics.md"} {
		var want bytes.Buffer
		if err := WriteDocs(&want, lang); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s is out of date: make docs (-want +got):\n%s", path, diff)
		}
	}
}
