// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math"

	"github.com/gputally/gputally/internal/core/money"
)

// The numbers of a verification.
const (
	// WorseBy is from where a guard counts as worse.
	WorseBy = 0.10
	// TrafficMoved is from where the work of two times is no longer the same.
	TrafficMoved = 0.20
)

// Period is what a workload and its fleet were like in a time.
type Period struct {
	FromMS int64 `json:"from_ms"`
	ToMS   int64 `json:"to_ms"`
	// SeenMS is how much of it is recorded of the workload.
	SeenMS int64 `json:"seen_ms"`
	// Charge is what the workload was charged, Nodes what the cluster's nodes cost,
	// Idle what of that was idle or stranded; nil where there is no price.
	Currency string      `json:"currency,omitempty"`
	Charge   *money.Nano `json:"charge"`
	Nodes    *money.Nano `json:"nodes"`
	Idle     *money.Nano `json:"idle_and_stranded"`
	// ActiveMS is time in which kernels ran, over all partitions; nil where no
	// reading tells.
	ActiveMS *int64 `json:"active_ms"`
	// Waited of Looks saw a request wait; Preempted requests lost their memory. nil
	// without an engine that tells.
	Waited    *int64  `json:"waited,omitempty"`
	Looks     *int64  `json:"looks,omitempty"`
	Preempted *uint64 `json:"preempted,omitempty"`
	// Generated is how many tokens an engine generated, MillionTokens what the workload
	// was charged for a million of them; nil where one of them is not known, or there
	// were fewer.
	Generated     *uint64     `json:"generated_tokens,omitempty"`
	MillionTokens *money.Nano `json:"million_tokens,omitempty"`
	// Pods is how many different ones there were; PodsAtOnce the most in an hour.
	Pods       int `json:"pods"`
	PodsAtOnce int `json:"pods_at_once"`
	// FirstMS is the first hour that the workload was seen in.
	FirstMS int64 `json:"first_ms,omitempty"`
	// StalledMS is time in which kernels seemed to hang.
	StalledMS int64 `json:"stalled_ms,omitempty"`
	// Had is what it had in its last hour.
	Had Had `json:"had,omitzero"`
	// Policies are those by which the hours were divided, Prices what the workload's
	// machines cost.
	Policies []string       `json:"policies,omitempty"`
	Prices   []MachinePrice `json:"prices,omitempty"`
}

// Had is what a workload had at a moment.
type Had struct {
	Model   string `json:"model,omitempty"`
	Profile string `json:"profile,omitempty"`
	// PerPod is how many partitions a pod had; Fraction an engine's share of memory, ""
	// where none tells.
	PerPod   int    `json:"per_pod,omitempty"`
	Fraction string `json:"fraction,omitempty"`
}

// MachinePrice is what a kind of machine cost an hour, as the mean of a time.
type MachinePrice struct {
	Machine  string     `json:"machine"`
	Currency string     `json:"currency"`
	Split    string     `json:"split,omitempty"`
	Hour     money.Nano `json:"hour"`
}

// Verification compares before and after.
type Verification struct {
	State  State  `json:"state"`
	Before Period `json:"before"`
	After  Period `json:"after"`
	// Cash is by how much the cluster's nodes cost less, Charge by how much the
	// workload is charged less, Idle by how much idle and stranded GPUs cost less: each
	// over the length of the time after. nil where one of the two is not known.
	Cash   *money.Nano `json:"cash"`
	Charge *money.Nano `json:"charge"`
	Idle   *money.Nano `json:"idle_and_stranded"`
	// Notes say in words what was found; Guards which figures got worse.
	Notes  []string `json:"notes"`
	Guards []string `json:"guards,omitempty"`
}

// NotComparable: the work, the price or the policy was not the same; NotRealised: the change
// is not there; TooEarly: the time after is not over.
const (
	NotComparable State = "not-comparable"
	NotRealised   State = "not-realised"
	TooEarly      State = "too-early"
)

// Compare compares two times of the same length and the same days of the week, before
// and after a change was made.
func Compare(r *Recommendation, before, after Period) Verification {
	kind := r.Kind
	v := Verification{Before: before, After: after, State: Verified}
	note := func(code string, values ...any) { v.Notes = append(v.Notes, Say(code, values...)) }
	if after.SeenMS == 0 || before.SeenMS == 0 {
		v.State = NotComparable
		note("not_there")
	} else if has := undone(r, &after.Had); has != "" {
		v.State = NotRealised
		v.Notes = append(v.Notes, has)
	}
	same := before.Currency == after.Currency
	if !same {
		note("two_currencies", before.Currency, after.Currency)
	}
	less := func(a, b *money.Nano) *money.Nano {
		if a == nil || b == nil || !same {
			return nil
		}
		d := *a - *b
		return &d
	}
	v.Cash, v.Charge, v.Idle = less(before.Nodes, after.Nodes), less(before.Charge, after.Charge), less(before.Idle, after.Idle)
	if moved, by := traffic(&before, &after); moved && v.State == Verified {
		v.State = NotComparable
		v.Notes = append(v.Notes, by)
	}
	v.unit(note)
	v.Guards = guards(kind, &before, &after)
	if len(v.Guards) > 0 && v.State == Verified {
		v.State = Regressed
		note("way_back")
	}
	for _, why := range otherTerms(&before, &after) { // what got worse got worse at any price
		if v.State == Verified {
			v.State = NotComparable
		}
		v.Notes = append(v.Notes, why)
	}
	switch {
	case v.Cash == nil:
		note("nodes_untold")
	case *v.Cash > 0:
		note("nodes_less")
	case v.Charge != nil && *v.Charge > 0:
		note("charge_fell")
	default:
		note("nothing_less")
	}
	return v
}

// million is how many tokens a price is said for.
const million = 1_000_000

// unit works out what a million tokens was charged in each time, and says it.
func (v *Verification) unit(note func(string, ...any)) {
	for _, p := range []*Period{&v.Before, &v.After} {
		if p.Charge == nil || p.Generated == nil || *p.Generated < million || *p.Generated > math.MaxInt64 {
			continue
		}
		if of, err := part(*p.Charge, million, int64(*p.Generated)); err == nil {
			p.MillionTokens = &of
		}
	}
	if b, a := v.Before.MillionTokens, v.After.MillionTokens; b != nil && a != nil && v.Before.Currency == v.After.Currency {
		note("million_tokens", b, a)
	}
}

// traffic says whether so much more or less was done that the times do not compare: by
// the tokens that an engine generated, else by how long the GPUs worked.
func traffic(before, after *Period) (moved bool, by string) {
	for _, w := range []struct {
		ratio float64
		code  string
	}{
		{ratio(before.Generated, after.Generated), "traffic_tokens"},
		{ratio(before.ActiveMS, after.ActiveMS), "traffic_active"},
	} {
		if w.ratio >= 0 {
			return w.ratio < 1-TrafficMoved || w.ratio > 1+TrafficMoved, Say(w.code, fmt.Sprintf("%.2f", w.ratio))
		}
	}
	return false, ""
}

// ratio is after against before, -1 where one is not known or there was nothing before.
func ratio[T int64 | uint64](before, after *T) float64 {
	if before == nil || after == nil || *before == 0 {
		return -1
	}
	return float64(*after) / float64(*before)
}

func guards(kind Kind, before, after *Period) (worse []string) {
	if b, a := share(before.Waited, before.Looks), share(after.Waited, after.Looks); b != nil && a != nil && *a > *b*(1+WorseBy)+0.001 {
		worse = append(worse, Say("guard_waited", percent(*a), percent(*b)))
	}
	if b, a := before.Preempted, after.Preempted; b != nil && a != nil && float64(*a) > float64(*b)*(1+WorseBy) {
		worse = append(worse, Say("guard_preempted", *a, *b))
	}
	if before.StalledMS == 0 && after.StalledMS > 0 {
		worse = append(worse, Say("guard_hung", after.StalledMS/60_000))
	}
	if kind == KindReclaim { // to stop and to start is what was asked for
		return worse
	}
	// One pod in the place of each is the change itself.
	if extra := after.Pods - 2*after.PodsAtOnce; extra > 0 && float64(after.Pods) > float64(before.Pods)*(1+WorseBy) {
		worse = append(worse, Say("guard_pods", after.Pods, after.PodsAtOnce, before.Pods))
	}
	return worse
}

func share(n, of *int64) *float64 {
	if n == nil || of == nil || *of == 0 {
		return nil
	}
	v := float64(*n) / float64(*of)
	return &v
}
