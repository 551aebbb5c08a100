// SPDX-License-Identifier: Apache-2.0

package inquiry

import (
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
)

// AdviceQuery says whose advice is wanted. Empty fields are no limit.
type AdviceQuery struct {
	// AtMS is a moment: the time looked at ends with the day of UTC before it.
	AtMS                            int64
	Cluster, Node                   string
	Namespace, OwnerKind, OwnerName string
	// Share looks for workloads that could share a GPU, too: that reads minutes.
	Share bool
}

// Advice is what is advised, and what is refused with its reasons.
type Advice struct {
	FromMS, ToMS int64
	Workloads    []AdvisedWorkload
	// Shared are of several workloads each.
	Shared []advice.Recommendation
	// Behind is how many hours of nodes are rated and not yet looked at.
	Behind int
}

// HoursQuery asks what a workload did, hour by hour, in [FromMS, ToMS).
type HoursQuery struct {
	FromMS, ToMS                    int64
	Cluster                         string
	Namespace, OwnerKind, OwnerName string
}

// AdvisedWorkload is a workload on one kind of partition with all that was tried on
// it: what is advised comes first.
type AdvisedWorkload struct {
	Target  advice.Target
	Work    advice.Work
	Model   string
	Profile string
	// Pods and Partitions are what it had in its last hour.
	Pods, Partitions int
	Classes          []advice.ClassTime
	Recommendations  []advice.Recommendation
	// Said are the decisions on its recommendations, by the kind of change.
	Said map[advice.Kind]Decision
}

// Decision is what somebody said to a recommendation.
type Decision struct {
	ID     string       `json:"id"`
	State  advice.State `json:"state"` // accepted or dismissed
	Reason string       `json:"reason,omitempty"`
	By     string       `json:"by,omitempty"`
	AtMS   int64        `json:"at_ms"`
	// UntilMS is when a dismissal ends, 0 for never; AppliedMS when the change was
	// made, 0 for not yet.
	UntilMS   int64 `json:"until_ms,omitempty"`
	AppliedMS int64 `json:"applied_ms,omitempty"`
	// Why says why it is expired; it is worked out when asked, and not kept.
	Why []string `json:"-"`
	// Recommendation is what was answered.
	Recommendation advice.Recommendation `json:"recommendation"`
}

// Verdict is a change looked at afterwards.
type Verdict struct {
	Decision Decision
	advice.Verification
	// Back says how to undo it, where something got worse.
	Back []string
}

// Plans are what clusters could give back.
type Plans struct {
	FromMS, ToMS int64
	Clusters     []ClusterPlan
}

// ClusterPlan is one cluster's plan, or the refusal of one.
type ClusterPlan struct {
	Cluster string
	Nodes   int
	// Unpriced is how many of the nodes are in no figure, since their price is not known.
	Unpriced int
	// Kept are nodes that stay whatever the plan.
	Kept []advisor.Kept
	advice.Repacking
}
