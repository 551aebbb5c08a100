// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Resource is what an entry is money for.
type Resource string

// The resources of a node.
const (
	ResourceGPU    Resource = "gpu"
	ResourceCPU    Resource = "cpu"
	ResourceMemory Resource = "memory"
)

// The platform accounts: money that is nobody's workload.
const (
	Idle         = "idle"
	Stranded     = "stranded"
	Overhead     = "overhead"
	Unattributed = "unattributed"
	Host         = "host"
	Unavailable  = "unavailable"
	Unmeasured   = "unmeasured"
)

// PlatformAccounts lists them.
func PlatformAccounts() []string {
	return []string{Idle, Stranded, Overhead, Unattributed, Host, Unavailable, Unmeasured}
}

// Unschedulable is the note of idle that the scheduler could not hand out.
const Unschedulable = "unschedulable"

// Kind is why an entry is on its account.
type Kind string

// The kinds of entry.
const (
	// Direct: a workload's own charge, by its grant and its use.
	Direct Kind = "direct"
	// Leak: a pod's charge for memory that it holds without a grant.
	Leak Kind = "leak"
	// Platform: a platform account's.
	Platform Kind = "platform"
	// Shared: a part of a platform account that the policy passed on; From
	// names the account.
	Shared Kind = "shared"
)

// Entry is one line of the ledger: what one holder or platform account is
// charged for one partition (or for the CPU or the memory of a node), in one
// piece of one hour, under one price and one policy.
type Entry struct {
	// ID is made from the dimensions below up to Policy, and from nothing else:
	// a rerun under another price or with late records has the same ids.
	ID      string `json:"id"`
	Cluster string `json:"cluster,omitempty"`
	Node    string `json:"node"`
	// HourMS is the hour of UTC, StartMS and DurationMS the piece of it in
	// which the price stood; Unix milliseconds.
	HourMS     int64    `json:"hour_ms"`
	StartMS    int64    `json:"start_ms"`
	DurationMS int64    `json:"duration_ms"`
	Resource   Resource `json:"resource"`
	// Slot is the paid GPU slot, empty for a device that is in none. Partition
	// is the device or the MIG instance; its Device is empty where a slot never
	// had a card.
	Slot      string          `json:"slot,omitempty"`
	Partition gpu.PartitionID `json:"partition,omitzero"`
	Kind      Kind            `json:"kind"`
	// Account is "namespace/pod", a platform account, or the name of an owner
	// that the policy gives. From is the platform account that a shared entry
	// comes from. Note qualifies a platform account.
	Account string `json:"account"`
	From    string `json:"from,omitempty"`
	Note    string `json:"note,omitempty"`
	// Holder is the pod (its container left out: a grant is the pod's) or the
	// host's unit; zero for other platform accounts and named owners.
	Holder workload.Holder `json:"holder,omitzero"`
	Policy string          `json:"policy"`

	Model   string `json:"model,omitempty"`
	Profile string `json:"profile,omitempty"` // of a MIG instance
	// Mode is how the partition was shared while the entry's share came about:
	// of several modes the one that stood longest, of equally long ones the first
	// by name. A card in MIG mode is mig also in what none of its instances
	// covers. Empty of CPU, memory and a slot without a card.
	Mode gpu.Mode `json:"mode,omitempty"`

	// Amount is nil where there is no price: unknown, not free. Moved is what
	// of a platform account was passed on: Amount + Moved is what it was before.
	Amount   *money.Nano    `json:"amount"`
	Moved    *money.Nano    `json:"moved,omitempty"`
	Currency money.Currency `json:"currency,omitempty"`
	Basis    *pricing.Basis `json:"basis,omitempty"`
	Quantities
}

// Quantities stand beside the money of an entry. Shared entries have none: only
// money is passed on, and what was idle stays idle.
type Quantities struct {
	// ShareMS is the entry's share of the GPU (of the node's CPU or memory)
	// times time, in milliseconds. Those of all entries of one slot and piece
	// sum to DurationMS.
	ShareMS int64 `json:"share_ms"`
	// UsedMS and UnusedMS are the parts of ShareMS for what was held and for
	// what was kept from others and not held. What is in neither is a grant's
	// charge while nobody measured, or a platform account.
	UsedMS   int64 `json:"used_ms,omitempty"`
	UnusedMS int64 `json:"unused_ms,omitempty"`
	// Grade is the worst of ShareMS; GradeMS splits ShareMS by grade, nil when
	// all of it is of Grade.
	Grade   gpu.Grade           `json:"grade"`
	GradeMS map[gpu.Grade]int64 `json:"grade_ms,omitempty"`
	// ByteMS is memory held, PresentMS the time in which anything was held,
	// GrantedMS the time in which a grant stood. They are of the partition's
	// memory, or of the node's for that resource.
	ByteMS    usage.Total `json:"byte_ms,omitzero"`
	PresentMS int64       `json:"present_ms,omitempty"`
	GrantedMS int64       `json:"granted_ms,omitempty"`
	// Of the node's CPU: time used, and requests times time. Of its memory:
	// requests times time.
	CPUNanos          uint64      `json:"cpu_nanos,omitempty"`
	CPURequestMilliMS int64       `json:"cpu_request_milli_ms,omitempty"`
	RequestByteMS     usage.Total `json:"request_byte_ms,omitzero"`
}

// whose is the part of an entry's key that tells holders apart: a pod by its UID
// (a name is only a label), a host holder by its unit, else the account. It is two
// texts, of which who is made.
func (e *Entry) whose() (kind, name string) {
	switch e.Holder.Kind {
	case workload.KindPod, workload.KindDaemon:
		return "pod:", e.Holder.PodKey()
	case workload.KindHost:
		return "host:", e.Holder.Unit
	}
	return "account:", e.Account
}

func (e *Entry) who() string {
	kind, name := e.whose()
	return kind + name
}

// identify sets the entry's id: 128 bits of a hash over its dimensions.
func (e *Entry) identify() {
	var room [512]byte // for nearly all
	var digits [20]byte
	b := room[:0]
	for _, f := range [...]string{e.Cluster, e.Node, string(strconv.AppendInt(digits[:0], e.StartMS, 10)), string(e.Resource), e.Slot, e.Partition.String(), string(e.Kind)} {
		b = appendField(b, f, "")
	}
	kind, name := e.whose()
	b = appendField(b, kind, name)
	for _, f := range [...]string{e.From, e.Note, e.Policy} {
		b = appendField(b, f, "")
	}
	sum := sha256.Sum256(b)
	var id [32]byte
	hex.Encode(id[:], sum[:16])
	e.ID = string(id[:])
}

// appendField writes a text of two parts, behind its length.
func appendField(b []byte, first, second string) []byte {
	b = append(strconv.AppendInt(b, int64(len(first)+len(second)), 10), ':')
	return append(append(b, first...), second...)
}

// compare orders entries by time, place, kind and account, then by what tells
// holders of one name apart.
func (e *Entry) compare(o *Entry) int {
	// Nearly all differ in what comes first; who they are is a text to be made.
	place := cmp.Or(
		cmp.Compare(e.StartMS, o.StartMS), strings.Compare(e.Cluster, o.Cluster), strings.Compare(e.Node, o.Node),
		cmp.Compare(e.Resource.order(), o.Resource.order()), strings.Compare(e.Slot, o.Slot), e.Partition.Compare(o.Partition),
	)
	if place != 0 {
		return place
	}
	account := cmp.Or(
		cmp.Compare(e.Kind, o.Kind), strings.Compare(e.Account, o.Account), strings.Compare(e.From, o.From), strings.Compare(e.Note, o.Note),
	)
	if account != 0 {
		return account
	}
	return cmp.Or(strings.Compare(e.who(), o.who()), strings.Compare(e.Policy, o.Policy))
}

func (r Resource) order() int {
	switch r {
	case ResourceGPU:
		return 0
	case ResourceCPU:
		return 1
	}
	return 2
}
