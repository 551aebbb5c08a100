// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"fmt"
	"math"
	"reflect"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Start is the beginning of the hour in which made batches lie, Unix ms.
const Start = int64(1_790_002_800_000)

// AnyBatch draws a batch with anything in any field, found by reflection: a
// field that is added to usage.Batch is drawn too. It keeps no rule but that it
// has a time which a calendar knows.
func AnyBatch(t *rapid.T) usage.Batch {
	var b usage.Batch
	fill(t, reflect.ValueOf(&b).Elem())
	b.StartMS = Start + rapid.Int64Range(0, 3_599_999).Draw(t, "start")
	b.Seq = max(b.Seq, 1)
	return b
}

var (
	texts = rapid.OneOf(
		rapid.SampledFrom([]string{"", "a", "twelve bytes", "thirteen byte", "GPU-8f3c1f5e-0000-4000-8000-0123456789ab", "pod", "measured",
			"it's \"quoted\" \\ \x00 \u2028 \U0001F600", "naïve", "ß", `["json"]`, "null"}),
		rapid.StringN(0, 20, 60),
	)
	numbers = rapid.OneOf(
		rapid.SampledFrom([]uint64{0, 1, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64, 1 << 63, math.MaxUint64 - 1, math.MaxUint64}),
		rapid.Uint64(),
	)
	signed = rapid.OneOf(
		rapid.SampledFrom([]int64{0, 1, -1, 1 << 62, math.MaxInt64, math.MinInt64}),
		rapid.Int64(),
	)
	floats = rapid.OneOf(
		rapid.SampledFrom([]float64{0, 0.1, 1.0 / 3, math.MaxFloat64, math.SmallestNonzeroFloat64}),
		rapid.Float64Range(-1e300, 1e300),
	)
)

// fill draws every field of a value.
func fill(t *rapid.T, v reflect.Value) {
	if fillNumber(t, v) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(t, v.Field(i))
		}
	case reflect.Pointer:
		if rapid.Bool().Draw(t, "there") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem())
		}
	case reflect.Slice:
		n := rapid.IntRange(0, 2).Draw(t, "n")
		if n == 0 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(t, v.Index(i))
		}
	case reflect.Map:
		fillMap(t, v)
	case reflect.String:
		v.SetString(texts.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "bool"))
	case reflect.Float64:
		v.SetFloat(floats.Draw(t, "float"))
	case reflect.Int, reflect.Int64:
		v.SetInt(signed.Draw(t, "int"))
	case reflect.Uint64:
		v.SetUint(numbers.Draw(t, "uint"))
	case reflect.Uint32:
		v.SetUint(uint64(rapid.Uint32().Draw(t, "uint32")))
	default:
		t.Fatalf("a batch has a field of kind %s, which this generator does not know: teach it", v.Kind())
	}
}

func fillMap(t *rapid.T, v reflect.Value) {
	n := rapid.IntRange(0, 2).Draw(t, "n")
	if n == 0 {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for range n {
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(t, key)
		fill(t, value)
		v.SetMapIndex(key, value)
	}
}

// Minute makes a sound batch: minute seq-1 after Start of one node with so many
// GPUs and holders on each. It passes usage.Batch.Check. Equal arguments give
// equal batches.
func Minute(agent, boot string, seq uint64, gpus, holders int) usage.Batch {
	const second, capacity = 1000, uint64(80 << 30)
	b := usage.Batch{
		Version: usage.BatchVersion, Cluster: "test", Node: "node-" + agent, Agent: agent, Boot: boot, Seq: seq,
		StartMS: Start + int64(seq-1)*60*second, DurationMS: 60 * second, IntervalMS: 5 * second,
		ProviderID: "test:///" + agent,
	}
	if seq%60 == 1 {
		b.Shape = shapeOf(agent, gpus)
	}
	if seq%10 == 0 {
		b.Unschedulable = []usage.Span{{StartMS: b.StartMS + 20*second, DurationMS: 30 * second}}
	}
	span := usage.Span{StartMS: b.StartMS, DurationMS: b.DurationMS}
	for g := range gpus {
		id := gpu.Whole(gpu.UUID(fmt.Sprintf("GPU-%s-%04d", agent, g)))
		size := capacity
		n := int64(4)
		busy := float64((int(seq)*7+g)%100) / 100
		p := usage.PartitionRecord{
			Partition: id, Span: span, Names: []gpu.UUID{id.Device}, Slot: slotOf(g), Model: model,
			DeviceSlices: 8, Mode: gpu.ModeTimeSlicing, Replicas: &n, MeasuredMS: span.DurationMS, CapacityBytes: &size,
			CapacityByteMS: capacity * 60 * second, ReservedByteMS: 600 << 20 * 60 * second, Grade: gpu.Measured,
		}
		p.Signals.Busy, p.Signals.KnownMS = &busy, span.DurationMS
		held := uint64(0)
		for h := range holders {
			r, grant, pod := tenant(agent, g, h, span, seq, id)
			held += r.ByteMS
			b.Holders, b.Grants, b.Pods = append(b.Holders, r), append(b.Grants, grant), append(b.Pods, pod)
		}
		p.UsedByteMS = held
		p.FreeByteMS = p.CapacityByteMS - p.ReservedByteMS - held
		b.Partitions = append(b.Partitions, p)
	}
	return b
}

// shapeOf is what the node is said to be in the first minute of each hour.
func shapeOf(agent string, gpus int) *usage.NodeShape {
	s := usage.NodeShape{Labels: map[string]string{"kubernetes.io/hostname": "node-" + agent, "node.kubernetes.io/instance-type": "p5.48xlarge"},
		CPUMilli: 192_000, MemoryBytes: 2048 << 30, CreatedMS: Start - 3_600_000}
	for g := range gpus {
		s.Slots = append(s.Slots, usage.NodeSlot{Slot: slotOf(g), Model: model})
	}
	return &s
}

const model = "NVIDIA H100 80GB HBM3"

func slotOf(g int) string { return fmt.Sprintf("0000:%02x:00.0", g) }

// tenant is one pod on one GPU: what it held, was granted and used beside it.
func tenant(agent string, g, h int, span usage.Span, seq uint64, id gpu.PartitionID) (usage.Record, usage.GrantRecord, usage.PodRecord) {
	holder := workload.Holder{Kind: workload.KindPod, PodUID: fmt.Sprintf("%s-%d-%d-4000-8000-0123456789ab", agent, g, h),
		Namespace: fmt.Sprintf("team-%d", h), Pod: fmt.Sprintf("trainer-%d-%d", g, h)}
	bytes := uint64(h+1)<<30 + (seq*2654435761+uint64(g))%(1<<20)
	grant := usage.GrantRecord{Partition: id, Span: span, GrantedMS: span.DurationMS, Grant: attribution.Grant{
		Holder: holder, Containers: []string{"main"}, Source: "kubelet", Resource: "nvidia.com/gpu",
		DeviceIDs: []string{string(id.Device) + "::" + fmt.Sprint(h)}, Mode: gpu.ModeTimeSlicing, Replicas: 1}}
	pod := usage.PodRecord{Span: span, Holder: holder, Owner: workload.Owner{Kind: "Job", Name: fmt.Sprintf("trainer-%d", g), UID: fmt.Sprintf("job-%s-%d", agent, g)},
		Labels: map[string]string{"team": holder.Namespace}, PresentMS: span.DurationMS, CPUNanos: 30e9 + seq,
		MemoryByteMS: (4 << 30) * 60_000, CPURequestMilliMS: 2000 * 60_000, MemoryRequestByteMS: (8 << 30) * 60_000}
	holder.Container = "main"
	r := usage.Record{Partition: id, Span: span, Holder: holder, PresentMS: span.DurationMS, KnownMS: span.DurationMS,
		ByteMS: bytes * uint64(span.DurationMS), PeakBytes: bytes, Grade: gpu.Measured, SMMS: 0.25 * float64(span.DurationMS), SMKnownMS: span.DurationMS}
	return r, grant, pod
}
