// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// served are the hours until now of an engine that took a pool of 50 GiB of the 70 that it
// holds and uses a fifth of it: it needs 20 GiB and 1.25 × 10. In the third hour it was
// not asked.
func served(from time.Time) (out []usage.Batch) {
	const gib, minute = uint64(1) << 30, int64(60_000)
	id := gpu.Whole("GPU-0e0e0e0e-0000-4000-8000-000000000001")
	pod := workload.Holder{Kind: workload.KindPod, PodUID: "uid-engine", Namespace: "lab", Pod: "engine-0"}
	main, capacity, reserved := pod, 80*gib, 79*gib
	main.Container = "main"
	owner := workload.Owner{Kind: "StatefulSet", Name: "engine", UID: "owner-engine"}
	use, pool, tokens, request, none := 0.2, 50*gib, uint64(100_000), uint64(8000), uint64(0)
	for m := range int64(time.Since(from) / time.Minute) {
		span := usage.Span{StartMS: from.UnixMilli() + m*minute, DurationMS: minute}
		b := usage.Batch{Version: 1, Node: "lab-2", Cluster: "lab", Agent: "agent-lab-2", Boot: "boot-1", Seq: uint64(m + 1), StartMS: span.StartMS, DurationMS: minute, IntervalMS: 5000,
			Partitions: []usage.PartitionRecord{{Partition: id, Span: span, Slot: "0000:01:00.0", Model: "NVIDIA H100 80GB HBM3", Mode: gpu.ModeExclusive, MeasuredMS: minute,
				CapacityBytes: &capacity, CapacityByteMS: capacity * 60_000, ReservedByteMS: gib * 60_000, UsedByteMS: 70 * gib * 60_000, FreeByteMS: 9 * gib * 60_000, Grade: gpu.Measured}},
			Holders: []usage.Record{{Partition: id, Span: span, Holder: main, PresentMS: minute, KnownMS: minute, ByteMS: 70 * gib * 60_000, PeakBytes: 70 * gib, Grade: gpu.Measured}},
			Grants: []usage.GrantRecord{{Partition: id, Span: span, GrantedMS: minute, Grant: attribution.Grant{Holder: pod, Containers: []string{"main"}, Source: "kubelet", Resource: "nvidia.com/gpu",
				DeviceIDs: []string{string(id.Device)}, Mode: gpu.ModeExclusive, Replicas: 1, Reserved: gpu.One, ReservedBytes: &reserved}}},
			Pods: []usage.PodRecord{{Span: span, Holder: pod, Owner: owner, PresentMS: minute}}}
		if m/60 != 2 {
			b.Engines = []usage.EngineRecord{{Span: span, Holder: main, Engine: "vllm", Model: "mistral", Answered: 4, PoolUseMax: &use, PoolUseMean: &use, PoolBytes: &pool, PoolTokens: &tokens, RequestTokens: &request,
				WaitingKnown: 4, WaitingMax: &none, RunningMax: &none, Preemptions: &none, PrefixHits: &none, PrefixQueries: &none}}
		}
		out = append(out, b)
	}
	return out
}

// engine: what an engine says it needs stands beside what is held and kept, where it
// did not say it is a gap and why; the strip of classes stands under the charts' hours.
func engine(t *testing.T, b *tab, server, _ string) {
	from := time.Now().UTC().Truncate(time.Hour).Add(-7 * time.Hour)
	deliver(t, server, served(from))
	rated(t, server)
	var hours struct {
		Hours []struct {
			Need *uint64 `json:"need_bytes"`
		}
	}
	const workload = "namespace=lab&workload=StatefulSet/engine"
	until(t, time.Minute, "the hours are looked at", func() bool {
		ask(t, server+"/api/v1/advice/hours?"+workload+"&from="+from.Format(time.RFC3339)+"&to="+from.Add(5*time.Hour).Format(time.RFC3339), &hours)
		return len(hours.Hours) == 5
	})
	b.visit(t, fmt.Sprintf("%s/ui/?lang=en&theme=light#/workload/lab%%2FStatefulSet%%2Fengine?from=%s&to=%s", server, from.Format(time.RFC3339), from.Add(5*time.Hour).Format(time.RFC3339)))
	const under = `(async () => { const o = document.querySelectorAll('.u-over')[1], r = o.getBoundingClientRect(), out = [];
		for (const x of [0.5, 2.5, 4.5]) { o.dispatchEvent(new MouseEvent('mousemove', {clientX: r.left + r.width * x / 5, clientY: r.top + 20, bubbles: true}));
			await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done))); out.push(document.querySelectorAll('.u-over .tip')[1].innerText); } return out; })()`
	tips := script[[]string](t, b, under, awaited)
	for i, want := range []string{"32.5 GiB · estimated", "", "32.5 GiB · estimated"} {
		if !strings.Contains(tips[i], "70.0 GiB") || strings.Contains(tips[i], "32.5 GiB · estimated") != (want != "") || !strings.Contains(tips[i], "80.0 GiB · derived") {
			t.Errorf("hour %d: %q", i*2, tips[i])
		}
	}
	if text := b.text(t); !strings.Contains(text, "Hours of which that is not known are gaps") {
		t.Errorf("nothing says why there is a gap:\n%s", text)
	}
	off := script[[]float64](t, b, `(() => { const a = document.querySelector('.u-over').getBoundingClientRect(), s = document.querySelector('svg.strip').getBoundingClientRect(); return [s.left - a.left, s.right - a.right]; })()`)
	if off[0] < -1 || off[0] > 1 || off[1] < -1 || off[1] > 1 {
		t.Errorf("the strip of classes is off the charts' hours by %v pixels", off)
	}
	b.picture(t, "workload-engine")
	b.accessible(t, "an engine's workload")
}
