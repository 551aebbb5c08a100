// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/workload"
)

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

// NodeHour is one hour of one node: what is rated in one go.
type NodeHour struct {
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	HourMS  int64  `json:"hour_ms"`
}

// String names the hour for people.
func (h NodeHour) String() string {
	return fmt.Sprintf("node %s of cluster %q, hour of %s", h.Node, h.Cluster, clock(h.HourMS))
}

// Compare orders by time, cluster and node.
func (h NodeHour) Compare(o NodeHour) int {
	return cmp.Or(cmp.Compare(h.HourMS, o.HourMS), strings.Compare(h.Cluster, o.Cluster), strings.Compare(h.Node, o.Node))
}

// Facts are what a line says about a charge beside its numbers. As long as they
// stay, a new rating books differences; when one of them changes, what was
// booked is taken back whole and booked anew.
type Facts struct {
	// Entry is the id of the entry of allocation. Set is the set of clusters
	// whose periods the line belongs to.
	Entry string `json:"entry"`
	Set   string `json:"set,omitempty"`
	NodeHour
	// StartMS and DurationMS are the time charged for: the piece of the hour,
	// or, of a drift, its charge period. Unix milliseconds.
	StartMS    int64               `json:"start_ms"`
	DurationMS int64               `json:"duration_ms"`
	Resource   allocation.Resource `json:"resource,omitempty"`
	Slot       string              `json:"slot,omitempty"`
	Partition  gpu.PartitionID     `json:"partition,omitzero"`
	EntryKind  allocation.Kind     `json:"entry_kind,omitempty"`
	Account    string              `json:"account"`
	From       string              `json:"from,omitempty"`
	Note       string              `json:"note,omitempty"`
	Holder     workload.Holder     `json:"holder,omitzero"`
	Policy     string              `json:"policy,omitempty"`
	Model      string              `json:"model,omitempty"`
	Profile    string              `json:"profile,omitempty"`
	// Mode is how the partition was shared (allocation.Entry.Mode).
	Mode gpu.Mode `json:"mode,omitempty"`
	// Currency is empty where no price is known: the amount is unknown then.
	// Price says whether the price was a list's or a bill's.
	Currency money.Currency `json:"currency,omitempty"`
	Price    pricing.Grade  `json:"price,omitempty"`
}

// Priced says whether the charge has a price.
func (f *Facts) Priced() bool { return f.Currency != "" }

// IsDrift says whether the line corrects money alone and is of no entry.
func (f *Facts) IsDrift() bool { return f.EntryKind == "" }

// factsOf is an entry's facts.
func factsOf(e *allocation.Entry, set string) (Facts, error) {
	f := Facts{
		Entry: e.ID, Set: set, NodeHour: NodeHour{e.Cluster, e.Node, e.HourMS}, StartMS: e.StartMS, DurationMS: e.DurationMS,
		Resource: e.Resource, Slot: e.Slot, Partition: e.Partition, EntryKind: e.Kind, Account: e.Account, From: e.From,
		Note: e.Note, Holder: e.Holder, Policy: e.Policy, Model: e.Model, Profile: e.Profile, Mode: e.Mode,
	}
	switch {
	case e.ID == "" || e.Kind == "":
		return f, fmt.Errorf("entry %q on account %s has no id or no kind: take entries from allocation", e.ID, e.Account)
	case e.Amount == nil && e.Moved != nil:
		return f, fmt.Errorf("entry %s on account %s passed %s on and has no amount", e.ID, e.Account, e.Moved)
	case e.Amount == nil:
		return f, nil
	case e.Currency == "":
		return f, fmt.Errorf("entry %s on account %s has the amount %s and no currency", e.ID, e.Account, e.Amount)
	}
	f.Currency = e.Currency
	if e.Basis != nil {
		f.Price = e.Basis.Grade
	}
	return f, nil
}

// compare orders lines by time, place and account, then by entry.
func (f *Facts) compare(o *Facts) int {
	// Nearly all differ in their place.
	place := cmp.Or(
		cmp.Compare(f.StartMS, o.StartMS), strings.Compare(f.Cluster, o.Cluster), strings.Compare(f.Node, o.Node),
		cmp.Compare(resourceOrder(f.Resource), resourceOrder(o.Resource)), strings.Compare(f.Slot, o.Slot), f.Partition.Compare(o.Partition),
	)
	if place != 0 {
		return place
	}
	return cmp.Or(
		strings.Compare(string(f.EntryKind), string(o.EntryKind)),
		strings.Compare(f.Account, o.Account), strings.Compare(f.From, o.From), strings.Compare(f.Note, o.Note),
		strings.Compare(f.Entry, o.Entry),
	)
}

// Resources lists what lines are money for, in their order in every output.
func Resources() []allocation.Resource {
	return []allocation.Resource{allocation.ResourceGPU, allocation.ResourceCPU, allocation.ResourceMemory}
}

func resourceOrder(r allocation.Resource) int {
	if i := slices.Index(Resources(), r); i >= 0 {
		return i
	}
	return len(Resources())
}
