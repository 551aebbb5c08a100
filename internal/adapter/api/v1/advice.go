// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Advice is what is advised for workloads, and what is refused.
type Advice struct {
	From      time.Time         `json:"from" doc:"The time looked at: whole days of UTC."`
	To        time.Time         `json:"to"`
	Rules     string            `json:"rules" doc:"The version of the rules: the same records under the same rules give the same advice."`
	Behind    int               `json:"hours_behind" doc:"Hours of nodes that are rated and not yet looked at."`
	Workloads []AdvisedWorkload `json:"workloads"`
	Shared    []Recommendation  `json:"shared" doc:"Workloads that could share a GPU; empty where that was not asked for."`
	Cash      []CurrencyAmount  `json:"cash" doc:"By how much invoices of a month would fall by all single changes that are advised: those whose node goes with them. Never the sum of charges."`
	Said      Said              `json:"said" doc:"What the sentences of this answer say, by their English: which sentence each is, and what stands in its gaps. For those who put them into another language."`
}

// CurrencyAmount is an amount of one currency.
type CurrencyAmount struct {
	Currency string    `json:"currency"`
	Amount   money.Sum `json:"amount"`
}

// AdvisedWorkload is a workload on one kind of partition.
type AdvisedWorkload struct {
	Target          AdviceTarget     `json:"target"`
	Work            string           `json:"work" doc:"What it is taken for: serving, notebook or training. It decides how long must have been seen."`
	Model           string           `json:"model"`
	Profile         string           `json:"profile,omitempty"`
	Pods            int              `json:"pods" doc:"In its last hour."`
	Partitions      int              `json:"partitions"`
	Classes         []ClassTime      `json:"classes" doc:"How long it was of each class."`
	Recommendations []Recommendation `json:"recommendations" doc:"What is advised stands first."`
}

// AdviceTarget is what a recommendation is about.
type AdviceTarget struct {
	Cluster    string   `json:"cluster,omitempty"`
	Node       string   `json:"node,omitempty" doc:"Left out where it is on several."`
	Namespace  string   `json:"namespace,omitempty"`
	Owner      string   `json:"owner,omitempty" example:"Deployment/bge"`
	Partitions []string `json:"partitions,omitempty" doc:"Those of its last hour."`
}

// ClassTime is how long something was of a class.
type ClassTime struct {
	Class string `json:"class"`
	MS    int64  `json:"ms"`
}

// Recommendation is one proposal, or the refusal of one.
type Recommendation struct {
	ID            string           `json:"id" doc:"Of what is proposed, the time looked at and the rules: another day has other ids."`
	Kind          string           `json:"kind" enum:"mig-profile,share,shape,fewer-gpus,smaller-pool,idle-reclaim,cpu-request,repack"`
	State         string           `json:"state" doc:"advised, refused, accepted, dismissed, applied."`
	MeasuredShare float64          `json:"measured_share" doc:"Of the granted time."`
	Class         string           `json:"class,omitempty" doc:"Of most of the time."`
	Evidence      []AdviceEvidence `json:"evidence"`
	Tests         []AdviceTest     `json:"tests" doc:"Inequalities with their numbers: value must not exceed limit."`
	Current       AdviceChange     `json:"current"`
	Proposed      *AdviceChange    `json:"proposed"`
	Need          AdviceNeed       `json:"need"`
	Money         *AdviceMoney     `json:"money" doc:"In a month of 730 hours; null: not known, or nothing is proposed."`
	Risk          AdviceRisk       `json:"risk"`
	Confidence    string           `json:"confidence,omitempty" enum:"high,medium,low"`
	Refusals      []AdviceRefusal  `json:"refusals" doc:"Why there is no advice, or what limits it."`
	Options       []AdviceOption   `json:"options,omitempty"`
	Apply         []string         `json:"apply,omitempty" doc:"What to change, for people to read: nothing is changed by gputally."`
	Verify        []string         `json:"verify,omitempty" doc:"What to compare afterwards."`
	Expires       time.Time        `json:"expires,omitzero"`
	Decision      *AdviceDecision  `json:"decision,omitempty" doc:"What was said to it, on whatever day."`
}

// AdviceEvidence is a figure that a recommendation rests on.
type AdviceEvidence struct {
	Metric    string  `json:"metric"`
	Statistic string  `json:"statistic"`
	Value     float64 `json:"value"`
	Unit      string  `json:"unit,omitempty"`
	Grade     string  `json:"grade"`
}

// AdviceTest is an inequality.
type AdviceTest struct {
	Of    string  `json:"of" doc:"The thing tried, such as a profile."`
	Name  string  `json:"name"`
	Sum   string  `json:"sum" doc:"How the value came about."`
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
	Holds bool    `json:"holds"`
}

// AdviceChange is what is asked for, now or then.
type AdviceChange struct {
	_             struct{} `nullable:"true"`
	Resource      string   `json:"resource,omitempty"`
	Profile       string   `json:"profile,omitempty"`
	Model         string   `json:"model,omitempty"`
	Count         int      `json:"count,omitempty"`
	Fraction      string   `json:"fraction,omitempty"`
	CPUMilli      int64    `json:"cpu_milli,omitempty"`
	HostBytes     uint64   `json:"host_bytes,omitempty" doc:"Request for the host's memory."`
	With          []string `json:"with,omitempty"`
	StopAfterIdle string   `json:"stop_after_idle,omitempty"`
}

// AdviceNeed is what the workload needs, as far as known.
type AdviceNeed struct {
	HardBytes *uint64  `json:"hard_bytes" nullable:"true" doc:"With the margin."`
	SoftBytes *uint64  `json:"soft_bytes" nullable:"true" doc:"May shrink at the price of latency."`
	SM        *float64 `json:"sm" nullable:"true" doc:"Share of the SMs that it has now."`
	DRAM      *float64 `json:"dram" nullable:"true" doc:"Share of the bandwidth that it has now."`
}

// AdviceMoney is what a change does in a month, in figures that are never added.
type AdviceMoney struct {
	_             struct{}    `nullable:"true"`
	Currency      string      `json:"currency"`
	Class         string      `json:"class" doc:"cash and avoidable make an invoice smaller; capacity can be handed out again; an enabler saves nothing alone." enum:"cash,avoidable,capacity,enabler,none"`
	ChargeDelta   *money.Nano `json:"charge_delta" nullable:"true" doc:"By how much the workload's charge falls under the policy in force, below 0 where it rises; null: not known."`
	ChargeNote    string      `json:"charge_note,omitempty" doc:"Which recorded hours were divided again for charge_delta, or why it is not known. Left out where the price of what changes is the charge."`
	FreedIdle     money.Nano  `json:"freed_idle"`
	FreedStranded money.Nano  `json:"freed_stranded"`
	CashLow       money.Nano  `json:"cash_low"`
	CashMean      money.Nano  `json:"cash_mean"`
	Avoidable     money.Nano  `json:"avoidable"`
	Price         string      `json:"price,omitempty"`
	Grade         string      `json:"grade,omitempty"`
}

// AdviceRisk is what can go wrong.
type AdviceRisk struct {
	SlowdownBound float64  `json:"slowdown_bound,omitempty" doc:"How many times as long a kernel may take that used all of what it has now."`
	Restart       bool     `json:"restart"`
	Isolation     string   `json:"isolation,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

// AdviceRefusal is why there is no advice, or what limits it.
type AdviceRefusal struct {
	Code     string `json:"code"`
	Blocks   bool   `json:"blocks" doc:"There is no advice because of it."`
	Missing  string `json:"missing"`
	HowToGet string `json:"how_to_get"`
	Of       string `json:"of,omitempty" doc:"The one of several workloads that it is of."`
}

// AdviceOption is one way of a proposal, with what it would have done.
type AdviceOption struct {
	StopAfterMS int64       `json:"stop_after_ms"`
	StoppedMS   int64       `json:"stopped_ms"`
	Stops       int         `json:"stops"`
	ColdStarts  int         `json:"cold_starts"`
	CashLow     *money.Nano `json:"cash_low" nullable:"true"`
	CashMean    *money.Nano `json:"cash_mean" nullable:"true"`
}

// AdviceDecision is what somebody said to a recommendation.
type AdviceDecision struct {
	ID      string    `json:"id" doc:"Of the recommendation that was answered."`
	State   string    `json:"state" doc:"accepted, applied, dismissed, expired."`
	Expired []string  `json:"expired_because,omitempty" doc:"Why it is expired: its day has come, or the workload's template, layout or price is another one."`
	Reason  string    `json:"reason,omitempty"`
	By      string    `json:"by,omitempty"`
	At      time.Time `json:"at"`
	Until   time.Time `json:"until,omitzero" doc:"When a dismissal ends."`
	Applied time.Time `json:"applied,omitzero" doc:"When the change was made."`
	// Kind and Target are those of the recommendation.
	Kind   string       `json:"kind"`
	Target AdviceTarget `json:"target"`
}

// AdviceDecisions are all that was said.
type AdviceDecisions struct {
	Decisions []AdviceDecision `json:"decisions" doc:"The newest first."`
	Said      Said             `json:"said" doc:"What the sentences of this answer say, by their English: which sentence each is, and what stands in its gaps. For those who put them into another language."`
}

// DecideAdvice says something to a recommendation.
type DecideAdvice struct {
	_       struct{}  `additionalProperties:"false"`
	State   string    `json:"state" enum:"accepted,dismissed"`
	Reason  string    `json:"reason,omitempty" maxLength:"1000" doc:"Required of a dismissal."`
	By      string    `json:"by,omitempty" maxLength:"200"`
	Until   time.Time `json:"until,omitzero" doc:"When a dismissal ends; left out: never."`
	Applied time.Time `json:"applied,omitzero" doc:"When the change was made."`
}

// AdviceVerdict compares before and after.
type AdviceVerdict struct {
	State    string         `json:"state" doc:"verified, regressed, not-comparable (the work, the prices or the policy were not the same), not-realised (the change is not there), too-early."`
	Decision AdviceDecision `json:"decision"`
	Before   AdvicePeriod   `json:"before"`
	After    AdvicePeriod   `json:"after"`
	Cash     *money.Nano    `json:"cash" nullable:"true" doc:"By how much the cluster's nodes cost less than before."`
	Charge   *money.Nano    `json:"charge" nullable:"true" doc:"By how much the workload is charged less."`
	Idle     *money.Nano    `json:"idle_and_stranded" nullable:"true" doc:"By how much idle and stranded GPUs cost less."`
	Guards   []string       `json:"guards" doc:"What got worse."`
	Back     []string       `json:"way_back,omitempty" doc:"How to undo the change, for people to read, where something got worse."`
	Notes    []string       `json:"notes"`
	Said     Said           `json:"said" doc:"What the sentences of this answer say, by their English: which sentence each is, and what stands in its gaps. For those who put them into another language."`
}

// AdvicePeriod is what a workload and its cluster were like in a time.
type AdvicePeriod struct {
	From       time.Time   `json:"from"`
	To         time.Time   `json:"to"`
	SeenMS     int64       `json:"seen_ms"`
	Currency   string      `json:"currency,omitempty"`
	Charge     *money.Nano `json:"charge" nullable:"true"`
	Nodes      *money.Nano `json:"nodes" nullable:"true"`
	Idle       *money.Nano `json:"idle_and_stranded" nullable:"true"`
	ActiveMS   *int64      `json:"active_ms" nullable:"true"`
	Waited     *int64      `json:"waited,omitempty"`
	Looks      *int64      `json:"looks,omitempty"`
	Preempted  *uint64     `json:"preempted,omitempty"`
	Generated  *uint64     `json:"generated_tokens,omitempty" doc:"Tokens that an engine generated."`
	Million    *money.Nano `json:"million_tokens,omitempty" doc:"What a million of them was charged."`
	Pods       int         `json:"pods"`
	PodsAtOnce int         `json:"pods_at_once"`
	StalledMS  int64       `json:"stalled_ms" doc:"Time in which kernels seemed to hang."`
	Policies   []string    `json:"policies" doc:"By which the hours were divided."`
	Prices     []string    `json:"prices" doc:"What an hour of its machines cost."`
}
