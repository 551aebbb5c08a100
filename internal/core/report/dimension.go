// SPDX-License-Identifier: Apache-2.0

package report

import (
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/workload"
)

// Dimension is what rows are told apart by.
type Dimension string

// The dimensions of place and price.
const (
	Set       Dimension = "set"
	Cluster   Dimension = "cluster"
	Node      Dimension = "node"
	Slot      Dimension = "slot" // the paid place of a GPU
	GPU       Dimension = "gpu"  // the card's UUID
	Partition Dimension = "partition"
	Model     Dimension = "model"
	Profile   Dimension = "profile" // of a MIG instance
	Mode      Dimension = "mode"    // how the GPU was shared: exclusive, mps, mig, …
	Resource  Dimension = "resource"
	Price     Dimension = "price" // listed, billed
	Split     Dimension = "split" // the rule that split the node's price
	Policy    Dimension = "policy"
	Kind      Dimension = "kind"       // charge, adjustment, correction
	EntryKind Dimension = "entry_kind" // direct, leak, platform, shared
	From      Dimension = "from"       // the account that a shared part comes from
	Note      Dimension = "note"
)

// The dimensions of whom a charge is for.
const (
	Class        Dimension = "class" // workload, owner, platform, reconciliation
	Account      Dimension = "account"
	Namespace    Dimension = "namespace"
	Pod          Dimension = "pod"
	WorkloadKind Dimension = "workload_kind" // Job, Deployment, …
	Workload     Dimension = "workload"
)

// The dimensions of time: of the hour charged for, and the month of booking.
const (
	Hour        Dimension = "hour"
	Day         Dimension = "day"
	Week        Dimension = "week" // ISO 8601: weeks begin on Monday
	Month       Dimension = "month"
	BookedMonth Dimension = "booked_month"
)

// labelPrefix begins the dimension of a pod's label.
const labelPrefix = "label:"

// Label is the dimension of a label that pods bore in the hour, such as team.
func Label(key string) Dimension { return Dimension(labelPrefix + key) }

// label is the key of a label's dimension.
func (d Dimension) label() (key string, ok bool) { return strings.CutPrefix(string(d), labelPrefix) }

// Dimensions lists all dimensions, those of labels apart.
func Dimensions() []Dimension {
	return []Dimension{
		Namespace, WorkloadKind, Workload, Pod, Account, Class, Set, Cluster, Node, Slot, GPU, Partition, Model, Profile, Mode,
		Resource, Price, Split, Policy, Kind, EntryKind, From, Note, Hour, Day, Week, Month, BookedMonth,
	}
}

func (d Dimension) isTime() bool {
	return slices.Contains([]Dimension{Hour, Day, Week, Month, BookedMonth}, d)
}

// ofPod says that only workloads have the dimension.
func (d Dimension) ofPod() bool {
	_, label := d.label()
	return label || slices.Contains([]Dimension{Namespace, Pod, WorkloadKind, Workload}, d)
}

// LookedUp says that the line does not know the dimension.
func (d Dimension) LookedUp() bool {
	_, label := d.label()
	return label || d == WorkloadKind || d == Workload
}

func (d Dimension) check(field string, pods bool) error {
	if key, ok := d.label(); ok && key == "" {
		return &Invalid{Field: field, Value: string(d), Why: "write label: and the label's key, such as label:team"}
	} else if !ok && !slices.Contains(Dimensions(), d) {
		allowed := []string{}
		for _, known := range Dimensions() {
			allowed = append(allowed, string(known))
		}
		return &Invalid{Field: field, Value: string(d), Allowed: append(allowed, labelPrefix+"KEY")}
	}
	if d.LookedUp() && !pods {
		return &Invalid{Field: field, Value: string(d), Why: "workloads and labels of pods are not known here"}
	}
	return nil
}

// Values that stand for something else than themselves. No name or label of
// Kubernetes begins with a bracket.
const (
	// Unknown: there is such a thing, and nobody knows it.
	Unknown = "(unknown)"
	// None: there is no such thing, such as a label that the pod does not bear.
	None = "(none)"
	// Others is the row of what is beyond Spec.Top.
	Others = "(others)"
)

// PodDimensions is what a pod was in an hour, beyond its name.
type PodDimensions struct {
	// Owner is the workload that the pod belongs to, as far up as known.
	Owner workload.Owner `json:"owner,omitzero"`
	// Labels are those that the pod bore in that hour, labels and annotations
	// chosen as cost dimensions.
	Labels map[string]string `json:"labels,omitempty"`
}

// Lookup finds the dimensions of a pod in an hour, false where nobody knows
// them. It is asked often: it should answer from memory.
type Lookup func(podUID string, hourMS int64) (*PodDimensions, bool)

// values reads dimensions from lines. It remembers what is slow to make.
type values struct {
	pods       Lookup
	times      map[Dimension]map[int64]string
	partitions map[partitionKey]string

	uid    string
	hour   int64
	pod    *PodDimensions
	looked bool
	given  bool // pod is what the caller gave
}

type partitionKey struct {
	device   string
	instance uint32
	since    int64
}

// give sets what the pod of the next line was, nil where nobody knows.
func (v *values) give(pod *PodDimensions) { v.pod = pod }

func newValues(pods Lookup) *values {
	return &values{pods: pods, times: map[Dimension]map[int64]string{}, partitions: map[partitionKey]string{}}
}

// of is a line's value of a dimension. It is empty where only workloads have
// one and the line is no workload's.
func (v *values) of(l *ledger.Line, class ledger.Class, d Dimension) string {
	switch d {
	case Set:
		return l.Set
	case Cluster:
		return l.Cluster
	case Node:
		return l.Node
	case Slot:
		return l.Slot
	case GPU:
		return string(l.Partition.Device)
	case Model:
		return orUnknown(l.Model, l.Partition.Device != "")
	case Profile:
		return l.Profile
	case Mode:
		return orUnknown(string(l.Mode), l.Partition.Device != "")
	case Resource:
		return string(l.Resource)
	case Price:
		return string(l.Price)
	case Split:
		return orUnknown(string(l.Split()), l.Priced() && !l.IsDrift())
	case Policy:
		return l.Policy
	case Kind:
		return string(l.Kind)
	case EntryKind:
		return string(l.EntryKind)
	case From:
		return l.From
	case Note:
		return l.Note
	case Class:
		return string(class)
	case Account:
		return l.Account
	case Partition:
		return v.partition(l)
	case BookedMonth:
		return v.time(d, l.Period.StartMS())
	case Hour, Day, Week, Month:
		return v.time(d, l.StartMS-l.StartMS%hourMS)
	}
	if class != ledger.Workload {
		return ""
	}
	return v.ofPod(l, d)
}

func (v *values) ofPod(l *ledger.Line, d Dimension) string {
	switch d {
	case Namespace:
		return orUnknown(l.Holder.Namespace, true)
	case Pod:
		return l.Holder.Account()
	}
	if !v.given && (l.Holder.PodUID != v.uid || l.HourMS != v.hour || !v.looked) {
		v.pod, v.looked = nil, true
		v.uid, v.hour = l.Holder.PodUID, l.HourMS
		if pod, ok := v.pods(v.uid, v.hour); ok {
			v.pod = pod
		}
	}
	return d.OfPod(v.pod)
}

// OfPod is the value of a workload's dimension for a line of a pod, nil where
// nobody knows what it was.
func (d Dimension) OfPod(p *PodDimensions) string {
	switch key, _ := d.label(); {
	case p == nil:
		return Unknown
	case d == WorkloadKind:
		return orNone(p.Owner.Kind)
	case d == Workload:
		return orNone(p.Owner.Name)
	default:
		return orNone(p.Labels[key])
	}
}

func (v *values) partition(l *ledger.Line) string {
	p := l.Partition
	if p.Device == "" {
		return ""
	}
	k := partitionKey{string(p.Device), p.Instance, p.SinceMS}
	text, ok := v.partitions[k]
	if !ok {
		text = p.String()
		v.partitions[k] = text
	}
	return text
}

func (v *values) time(d Dimension, ms int64) string {
	of := v.times[d]
	if of == nil {
		of = map[int64]string{}
		v.times[d] = of
	}
	text, ok := of[ms]
	if !ok {
		text = bucket(d, ms)
		of[ms] = text
	}
	return text
}

func orUnknown(value string, there bool) string {
	if value == "" && there {
		return Unknown
	}
	return value
}

func orNone(value string) string {
	if value == "" {
		return None
	}
	return value
}
