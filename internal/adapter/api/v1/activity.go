// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/signal"
)

// ActivityHours are what a workload's pods did on their GPUs, hour by hour.
type ActivityHours struct {
	Rules string         `json:"rules" doc:"The version of the rules of classes."`
	Hours []ActivityHour `json:"hours" doc:"In order of time, a pod on a partition each."`
}

// ActivityHour is one pod on one partition in one hour.
type ActivityHour struct {
	Start      time.Time     `json:"start"`
	Pod        string        `json:"pod"`
	Cluster    string        `json:"cluster,omitempty"`
	Node       string        `json:"node"`
	GPU        string        `json:"gpu" doc:"The card's UUID."`
	Model      string        `json:"model,omitempty"`
	Profile    string        `json:"profile,omitempty"`
	Class      string        `json:"class" doc:"What the hour was like: docs/utilization.md has the rules."`
	Rule       int           `json:"rule" doc:"The number of the rule that gave the class."`
	Reason     string        `json:"reason,omitempty" doc:"Why it is unknown, or why nothing finer is."`
	Missing    []string      `json:"missing,omitempty" doc:"What a finer class lacks."`
	Inputs     []SignalInput `json:"inputs" doc:"What the rules looked at: means over the hour, unless the name says otherwise."`
	DurationMS int64         `json:"duration_ms" doc:"How long it had a grant or a process there."`
	MeasuredMS int64         `json:"measured_ms"`
	GrantedMS  int64         `json:"granted_ms"`
	Holders    int           `json:"holders" doc:"The most that had the partition at one time, itself among them."`
	PeakBytes  *uint64       `json:"peak_bytes" nullable:"true" doc:"The most that it held; null: a size was not known."`
	MeanBytes  *uint64       `json:"mean_bytes" nullable:"true"`
	Capacity   *uint64       `json:"capacity_bytes" nullable:"true"`
	Grade      string        `json:"grade" doc:"Of the memory figures, the worst."`
	PoolUseMax *float64      `json:"pool_use_max" nullable:"true" doc:"The most of its pool that an inference engine used; null: none tells."`
	PoolBytes  *uint64       `json:"pool_bytes" nullable:"true" doc:"What an inference engine took in advance; null: none tells, or it changed."`
	NeedBytes  *uint64       `json:"need_bytes" nullable:"true" doc:"What of the held memory is demanded, by what an inference engine in the pod tells (docs/engines.md); estimated. null: not known, see need_missing."`
	NeedWhy    []string      `json:"need_missing,omitempty" doc:"Why the need is not known, where an engine speaks: preallocated_unknown, prefix_cache, saturated, coverage, changed_workload."`
}

// SignalInput is a figure that a rule looked at.
type SignalInput struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// ActivityHoursOf makes the shape of hours.
func ActivityHoursOf(hours []activity.Hour) ActivityHours {
	return ActivityHours{signal.RulesVersion, list(hours, activityHourOf)}
}

func activityHourOf(h *activity.Hour) ActivityHour {
	v := &h.Verdict
	out := ActivityHour{Start: start(h.HourMS), Pod: h.Holder.Account(), Cluster: h.Cluster, Node: h.Node, GPU: string(h.Partition.Device), Model: h.Model, Profile: h.Profile,
		Class: string(v.Class), Rule: int(v.Rule), Reason: string(v.Reason), Missing: v.Missing,
		Inputs:     list(v.Inputs, func(i *signal.Input) SignalInput { return SignalInput{i.Name, i.Value} }),
		DurationMS: h.DurationMS, MeasuredMS: h.MeasuredMS, GrantedMS: h.GrantedMS, Holders: h.Holders, PeakBytes: h.PeakBytes, Capacity: h.CapacityBytes, Grade: string(h.Grade)}
	if h.DurationMS > 0 && h.PeakBytes != nil {
		mean := h.ByteMS / uint64(h.DurationMS)
		out.MeanBytes = &mean
	}
	if h.Engine != nil {
		out.PoolUseMax = h.Engine.UseMax
		out.demand(h)
	}
	return out
}

// demand sets what the hour needs by the engine's word, or why that is not known.
func (a *ActivityHour) demand(h *activity.Hour) {
	if pool, _, ok := h.Engine.Pool(); ok {
		a.PoolBytes = &pool
	}
	if h.PeakBytes == nil || h.CapacityBytes == nil {
		return
	}
	need, refusals := demand.Need(*h.Engine, demand.Held{TotalBytes: *h.CapacityBytes, HeldBytes: *h.PeakBytes, DurationMS: h.DurationMS})
	if len(refusals) == 0 {
		a.NeedBytes = &need.NeedBytes
	}
	for _, r := range refusals {
		if !slices.Contains(a.NeedWhy, r.Code) {
			a.NeedWhy = append(a.NeedWhy, r.Code)
		}
	}
}
