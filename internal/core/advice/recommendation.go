// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/signal"
)

// Kind is the sort of change.
type Kind string

// The kinds.
const (
	KindMIG        Kind = "mig-profile"
	KindShare      Kind = "share"
	KindShape      Kind = "shape"
	KindFewer      Kind = "fewer-gpus"
	KindPool       Kind = "smaller-pool"
	KindReclaim    Kind = "idle-reclaim"
	KindHostDemand Kind = "cpu-request"
	KindRepack     Kind = "repack"
)

// State is how far a recommendation has come. This package makes the first two; the
// others are what people and the ledger say of it later.
type State string

// The states.
const (
	Advised   State = "advised"
	Refused   State = "refused"
	Accepted  State = "accepted"
	Dismissed State = "dismissed"
	Applied   State = "applied"
	Verified  State = "verified"
	Regressed State = "regressed"
	Expired   State = "expired"
)

// Confidence is a word, not a number.
type Confidence string

// The levels of confidence.
const (
	High   Confidence = "high"
	Medium Confidence = "medium"
	Low    Confidence = "low"
)

// Target is what a recommendation is about.
type Target struct {
	Cluster    string   `json:"cluster,omitempty"`
	Node       string   `json:"node,omitempty"`
	Namespace  string   `json:"namespace,omitempty"`
	Owner      string   `json:"owner,omitempty"` // Kind/name
	Containers []string `json:"containers,omitempty"`
	Partitions []string `json:"partitions,omitempty"`
}

// Window is the time that was looked at, in Unix milliseconds.
type Window struct {
	FromMS        int64   `json:"from_ms"`
	ToMS          int64   `json:"to_ms"`
	MeasuredShare float64 `json:"measured_share"`
}

// Evidence is one figure that the recommendation rests on.
type Evidence struct {
	Metric    string    `json:"metric"`
	Statistic string    `json:"statistic"`
	Value     float64   `json:"value"`
	Unit      string    `json:"unit"`
	Grade     gpu.Grade `json:"grade"`
}

// Test is an inequality with its numbers: Value must not exceed Limit.
type Test struct {
	Of    string  `json:"of"` // the thing tried, such as a profile
	Name  string  `json:"name"`
	Sum   string  `json:"sum"` // how Value came about
	Value float64 `json:"value"`
	Limit float64 `json:"limit"`
	Unit  string  `json:"unit,omitempty"`
	Holds bool    `json:"holds"`
}

// Change is what is asked for, now or then. Fields that do not apply are empty.
type Change struct {
	Resource string `json:"resource,omitempty"`
	Profile  string `json:"profile,omitempty"`
	Model    string `json:"model,omitempty"`
	Count    int    `json:"count,omitempty"`
	Fraction string `json:"fraction,omitempty"`
	Engine   string `json:"engine,omitempty"` // that takes memory in advance
	CPUMilli int64  `json:"cpu_milli,omitempty"`
	// HostBytes is the request for the host's memory.
	HostBytes uint64   `json:"host_bytes,omitempty"`
	With      []string `json:"with,omitempty"` // co-tenants
	Idle      string   `json:"stop_after_idle,omitempty"`
}

// Need is what the workload needs, as far as known.
type Need struct {
	// HardBytes with the margin; SoftBytes may shrink at the price of latency.
	HardBytes *uint64  `json:"hard_bytes,omitempty"`
	SoftBytes *uint64  `json:"soft_bytes,omitempty"`
	SM        *float64 `json:"sm,omitempty"`
	DRAM      *float64 `json:"dram,omitempty"`
}

// Risk is what can go wrong.
type Risk struct {
	// SlowdownBound is how many times as long a kernel may take that used all
	// of what it has now. 0 where the change cannot slow it.
	SlowdownBound float64  `json:"slowdown_bound,omitempty"`
	Restart       bool     `json:"restart"`
	Isolation     string   `json:"isolation,omitempty"`
	Notes         []string `json:"notes,omitempty"`
}

// Verify says what to compare afterwards, and for how long.
type Verify struct {
	Metrics []string `json:"metrics"`
	Days    int      `json:"days"`
}

// Recommendation is one proposal, or the refusal of one.
type Recommendation struct {
	ID         string       `json:"id"`
	Kind       Kind         `json:"kind"`
	State      State        `json:"state"`
	Target     Target       `json:"target"`
	Window     Window       `json:"window"`
	Rules      string       `json:"rules"`
	Class      signal.Class `json:"class,omitempty"`
	Evidence   []Evidence   `json:"evidence,omitempty"`
	Tests      []Test       `json:"tests,omitempty"`
	Current    Change       `json:"current"`
	Proposed   *Change      `json:"proposed,omitempty"`
	Need       Need         `json:"need"`
	Money      *Money       `json:"money,omitempty"`
	PlanID     string       `json:"plan_id,omitempty"`
	Risk       Risk         `json:"risk"`
	Confidence Confidence   `json:"confidence,omitempty"`
	Refusals   []Refusal    `json:"refusals,omitempty"`
	Options    []Option     `json:"options,omitempty"`
	Verify     *Verify      `json:"verify,omitempty"`
	// Stood is what the workload was like, so that a decision ends when that changes.
	Stood     *Standing `json:"stood,omitempty"`
	ExpiresMS int64     `json:"expires_ms,omitempty"`
}

// begin is a recommendation before its rules were tried.
func begin(k Kind, s *Subject) Recommendation {
	r := Recommendation{Kind: k, Target: s.Target, Rules: RulesVersion, Current: s.Current, Class: s.mostly().Class,
		Window: Window{FromMS: s.FromMS, ToMS: s.ToMS, MeasuredShare: s.measuredShare()}}
	r.ID = identity(k, s.Target, s.FromMS, s.ToMS)
	return r
}

// identity is a hash of what a recommendation is about, so that the same
// evidence never makes a second one.
func identity(k Kind, t Target, from, to int64) string {
	return hash(string(k), t, from, to)
}

// hash names a thing under these rules. What is hashed is text and numbers,
// which JSON always writes, and writes in one way.
func hash(of ...any) string {
	text, err := json.Marshal(append([]any{RulesVersion}, of...))
	if err != nil {
		panic(err)
	}
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:8])
}

// finish settles the state: refused where a refusal blocks, with nothing proposed.
func (r Recommendation) finish(s *Subject, proposed Change, m *Money) Recommendation {
	if blocked(r.Refusals) {
		return r.refuse()
	}
	r.State, r.Proposed, r.Money = Advised, &proposed, m
	if m == nil {
		r.Refusals = append(r.Refusals, noPrice())
	}
	r.Confidence = s.confidence(r.Refusals)
	r.ExpiresMS = s.ToMS + (s.ToMS-s.FromMS)/2
	r.Verify = &Verify{Metrics: []string{"oom_kills", "restarts", "waiting", "preemptions", "charge", "idle_and_stranded"}, Days: 7}
	return r
}

func (r Recommendation) refuse(more ...Refusal) Recommendation {
	r.Refusals = append(r.Refusals, more...)
	r.State, r.Risk = Refused, Risk{}
	return r
}

func noPrice() Refusal {
	return lack(NoPrice, Say("price_node"), Say("add_row"))
}
