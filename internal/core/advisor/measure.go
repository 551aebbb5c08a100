// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
	"github.com/gputally/gputally/internal/core/workload"
)

// training and notebook are kinds of owners whose pods do not serve. All others
// count as serving, which asks for the most. JupyterHub's pods are named jupyter-USER.
var (
	training = []string{"Job", "CronJob", "JobSet", "PyTorchJob", "TFJob", "MPIJob", "XGBoostJob", "PaddleJob", "JAXJob", "TrainJob", "RayJob", "Workflow", "SparkApplication"}
	notebook = []string{"Notebook", "Workspace"}
)

// WorkOf is the sort of work that an owner's pods do.
func WorkOf(o workload.Owner, pod workload.Holder) advice.Work {
	switch {
	case slices.Contains(training, o.Kind):
		return advice.Training
	case slices.Contains(notebook, o.Kind), strings.HasPrefix(pod.Pod, "jupyter-"):
		return advice.Notebook
	}
	return advice.Serving
}

// measure adds the hours up.
func (c *Case) measure() {
	classes := map[signal.Class]int64{}
	var bytes, known float64
	var engine demand.Evidence
	var held signal.Spread
	peak := new(uint64)
	for _, h := range c.hours {
		c.GrantedMS += max(h.GrantedMS, 0)
		c.MeasuredMS += min(h.MeasuredMS, h.GrantedMS)
		c.SkewedMS += min(h.SkewedMS, h.GrantedMS)
		c.Holders = max(c.Holders, h.Holders)
		if h.PeakBytes == nil {
			peak = nil
		} else if peak != nil {
			*peak = max(*peak, *h.PeakBytes)
		}
		c.LeakBytes = max(c.LeakBytes, h.LeakBytes)
		if c.PeakGrade == "" || h.Grade.Rank() > c.PeakGrade.Rank() {
			c.PeakGrade = h.Grade
		}
		bytes, known = bytes+float64(h.ByteMS), known+float64(h.DurationMS)
		c.SM.Merge(h.SM)
		c.DRAM.Merge(h.DRAM)
		c.Tensor.Merge(h.Tensor)
		held.Merge(h.Held)
		classes[h.Verdict.Class] += h.DurationMS
		if h.Engine != nil {
			engine.Merge(*h.Engine)
		}
	}
	c.GrantedMS += c.holes()
	c.PeakBytes = peak
	if peak != nil && c.LeakBytes > 0 { // the rules take it off the peak again
		*peak += c.LeakBytes
	}
	for _, class := range signal.Classes() {
		if ms := classes[class]; ms > 0 {
			c.Classes = append(c.Classes, advice.ClassTime{Class: class, MS: ms})
		}
	}
	if known > 0 {
		mean := uint64(math.Round(bytes / known))
		c.MeanBytes = &mean
	}
	if capacity := c.hours[len(c.hours)-1].CapacityBytes; capacity != nil {
		if share, ok := held.Quantile(999); ok {
			p := uint64(share * float64(*capacity))
			if peak != nil {
				p = min(p, *peak-c.LeakBytes) // shares are kept in hundredths, rounded up
			}
			c.P999Bytes = &p
		}
	}
	c.GPUs, c.Runs = c.shape()
	c.pool(&engine)
}

// holes is time between the first and the last hour of each pod on a partition of
// which nothing is recorded: it was granted, and not measured.
func (c *Case) holes() (ms int64) {
	type run struct{ from, to, seen int64 }
	type key struct {
		pod  string
		part gpu.PartitionID
	}
	runs := map[key]run{}
	for _, h := range c.hours {
		k := key{h.Holder.PodKey(), h.Partition}
		r, there := runs[k]
		if !there {
			r.from = h.HourMS + hourMS - h.DurationMS
		}
		r.to = h.HourMS + h.DurationMS
		r.seen += h.DurationMS
		runs[k] = r
	}
	for _, r := range runs {
		ms += max(r.to-r.from-r.seen, 0)
	}
	return ms
}

// shape is how many partitions a pod has at a time, at most, and how many runs of a
// training have ended: pods that are gone by the last hour, by how many there were
// at a time.
func (c *Case) shape() (gpus, runs int) {
	type key struct {
		pod  string
		hour int64
	}
	parts := map[key]int{}
	at := map[int64]map[string]bool{}
	pods := map[string]int64{}
	for _, h := range c.hours {
		pod := h.Holder.PodKey()
		parts[key{pod, h.HourMS}]++
		gpus = max(gpus, parts[key{pod, h.HourMS}])
		if at[h.HourMS] == nil {
			at[h.HourMS] = map[string]bool{}
		}
		at[h.HourMS][pod] = true
		pods[pod] = max(pods[pod], h.HourMS)
	}
	together, ended := 1, 0
	for _, of := range at {
		together = max(together, len(of))
	}
	last := c.hours[len(c.hours)-1].HourMS
	for _, until := range pods {
		if until < last || c.ToMS > last+hourMS {
			ended++
		}
	}
	return gpus, ended / together
}

// pool says what an engine told of the memory that it took in advance. Ollama takes
// none: it holds what it has loaded.
func (c *Case) pool(e *demand.Evidence) {
	if e.Engine == "" || e.Engine == demand.Ollama {
		return
	}
	c.Subject.Engine, c.Current.Engine = e.Engine, e.Engine
	c.setFraction(e.Fraction)
	pool, request, ok := e.Pool()
	capacity := c.hours[len(c.hours)-1].CapacityBytes
	if !ok || c.PeakBytes == nil || *c.PeakBytes < pool || capacity == nil {
		return
	}
	p := &advice.Pool{TotalBytes: *capacity, FixedBytes: *c.PeakBytes - pool, PoolBytes: pool, RequestBytes: request,
		UsageMax: e.UseMax, HitRate: e.HitRate(), Scrapes: e.Answered, Expected: e.Answered + e.Failed, Waiting: e.Waited}
	if e.Preempted != nil {
		p.Preemptions = int64(min(*e.Preempted, math.MaxInt64))
	}
	c.Subject.Pool = p
	c.heed(e, *capacity)
}

// heed takes over why the engine's word is not enough: that is worked out in one place.
func (c *Case) heed(e *demand.Evidence, capacity uint64) {
	held := demand.Held{TotalBytes: capacity, HeldBytes: *c.PeakBytes}
	for _, h := range c.hours {
		held.DurationMS += h.DurationMS
	}
	_, refusals := demand.Need(*e, held)
	for _, r := range refusals {
		c.PoolRefusals = append(c.PoolRefusals, advice.Refusal{Code: advice.Code(r.Code), Missing: r.Missing, HowToGet: r.HowToGet})
	}
}

func (c *Case) setFraction(f *float64) {
	if f != nil && *f > 0 && *f <= 1 {
		c.Current.Fraction = fractionText(*f)
	}
}

func fractionText(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// minutes are those of the time looked at, of all pods together: quiet is what all of
// them are. A minute without any pod is none.
func (c *Case) minutes() (out []advice.Minute) {
	hours := map[int64]activity.Minutes{}
	var order []int64
	for _, h := range c.hours {
		m, there := hours[h.HourMS]
		if !there {
			order = append(order, h.HourMS)
		}
		hours[h.HourMS] = m.Join(h.Minutes)
	}
	for _, hour := range order {
		m := hours[hour]
		for i := range int64(60) {
			if bit := uint64(1) << i; m.Seen&bit != 0 {
				out = append(out, minuteOf(hour+i*60_000, m, bit))
			}
		}
	}
	return out
}

func minuteOf(at int64, m activity.Minutes, bit uint64) advice.Minute {
	out := advice.Minute{StartMS: at, DurationMS: 60_000}
	if m.Told&bit == 0 {
		return out
	}
	busy, asked := 1.0, int64(1)
	if m.Quiet&bit != 0 {
		busy, asked = 0, 0
	}
	cpu := busy
	out.Active, out.CPU = &busy, &cpu
	if m.Asked&bit != 0 {
		out.Requests = &asked
	}
	return out
}
