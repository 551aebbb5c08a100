// SPDX-License-Identifier: Apache-2.0

package report

import (
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// Trace is how one charge came about, in the nine steps from a sample to a
// statement. Records that reach over the edge of the piece that was charged are
// given whole.
type Trace struct {
	// Subject is what is charged. Source is, of a shared part, the entry of the
	// platform account that it was taken from: the steps up to the eighth are
	// about that.
	Subject ledger.Facts
	Source  *allocation.Entry

	Sample    SampleStep
	Attribute AttributeStep
	Integrate IntegrateStep
	Spool     SpoolStep
	Ship      ShipStep
	Journal   JournalStep
	Price     PriceStep
	Allocate  AllocateStep
	Booked    BookedStep
}

// SampleStep is what was looked at, how often, and how long nobody could.
type SampleStep struct {
	Partition   gpu.PartitionID
	Model       string
	Modes       []gpu.Mode // how it was shared, as evidence said
	IntervalsMS []int64    // the sampling intervals that were set
	MeasuredMS  int64
	// UnmeasuredMS and UnavailableMS are time without a reading and time
	// without a working card; Reasons say why.
	UnmeasuredMS, UnavailableMS int64
	Reasons                     []string
	// MissingMS is time of the piece of which no record tells.
	MissingMS int64
}

// AttributeStep is who it was, and what the scheduler had given.
type AttributeStep struct {
	Holder workload.Holder
	Leak   bool
	Grants []GrantTime
	// OtherGrants is how many other pods had a grant on the partition.
	OtherGrants int
	// GrantsUnknownMS is time in which nobody could tell who had grants.
	GrantsUnknownMS int64
	Findings        []FindingTime
}

// GrantTime is a grant and how long it stood.
type GrantTime struct {
	attribution.Grant
	GrantedMS int64
}

// FindingTime is a finding about the holder or the partition, and how long it
// stood.
type FindingTime struct {
	attribution.Finding
	ForMS int64
}

// IntegrateStep is what the samples came to over time.
type IntegrateStep struct {
	Windows int // records, of a minute or less
	// Of the holder: time with a holding, time with a known size, bytes × time.
	// Of overhead the driver's reserve is part, of unattributed what it names.
	PresentMS, KnownMS int64
	ByteMS             usage.Total
	PeakBytes          uint64
	// Of the partition: capacity = reserved + held + unattributed + free.
	CapacityByteMS, ReservedByteMS, HeldByteMS, UnattributedByteMS, FreeByteMS usage.Total
	// Of the node's CPU and memory, where the charge is for one of them.
	CPUNanos            uint64
	CPURequestMilliMS   int64
	MemoryRequestByteMS usage.Total
}

// SpoolStep is how the records were kept on the node: batches in a row, and
// what is missing among them.
type SpoolStep struct {
	Runs []BatchRun
	Gaps []usage.Gap
}

// BatchRun is batches of one agent process whose numbers follow one another.
type BatchRun struct {
	Agent, Boot string
	First, Last uint64
}

// ShipStep is how often batches arrived, and how often they count.
type ShipStep struct {
	Arrived, Counted int
}

// JournalStep compares the records with those of the last booking.
type JournalStep struct {
	// Digest is of the records now, Booked that of the last booking; empty
	// where it kept none.
	Digest, Booked string
}

// PriceStep is what the node cost.
type PriceStep struct {
	Cost pricing.NodeCost
	// Part is the cost of the slot, of the CPU or of the memory; nil without a
	// price, or for a device that is in no slot.
	Part *money.Nano
}

// AllocateStep is how the part was divided.
type AllocateStep struct {
	Policy string
	// Line is allocation's own account of it; nil where the hour as it is now
	// has no such entry.
	Line *allocation.Line
	// Amount is what the hour comes to now, after platform accounts were passed
	// on; Moved what was passed on of it.
	Amount, Moved *money.Nano
	Remarks       []allocation.Remark
}

// BookedStep is what the ledger has.
type BookedStep struct {
	Lines []ledger.Line // in the order of booking
	// Standing is what they sum to, nil where nothing stands; Amount is nil
	// where it has no price.
	Standing *allocation.Entry
	// Agrees: the hour as it is now comes to what was booked. Where it does
	// not, records, prices or the policy changed, and a new rating is due.
	Agrees bool
}
