// SPDX-License-Identifier: Apache-2.0

package promexport

import (
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/internal/core/workload"
)

// State is what one scrape shows.
type State struct {
	Version, AgentID, Cluster, Node string
	Standalone                      bool
	Interval                        time.Duration
	// Result is nil before the first sample: then only the agent and its
	// spool are shown.
	Result *attribution.Result
	Totals []Total
	Loop   Loop
	Spool  Spool
	// Ship is nil where records are not shipped.
	Ship *Ship
}

// Ship is how the shipping of records to a server stands; counts are since the
// agent began.
type Ship struct {
	Sent, Refused, Durable, Damaged, Lost, Rewinds, Failures uint64
	Waiting                                                  int
	// Failing: the last try failed. LastSuccess is zero before the first answer.
	Failing     bool
	LastSuccess time.Time
}

// Total is what one holder had on one partition since the agent began.
type Total struct {
	Partition gpu.PartitionID
	Holder    workload.Holder
	ByteMS    usage.Total
}

// Loop is what the sampling loop counted.
type Loop struct {
	Samples, MissedTicks, Windows uint64
	Failures                      map[string]uint64
	Events                        []Event
	LastSample                    time.Time
	LastDuration, Busy            time.Duration
}

// Event counts events of one device.
type Event struct {
	Device gpu.UUID
	Kind   string
	XID    uint64
	Count  uint64
}

// Spool is how the spool stands.
type Spool struct {
	Bytes, MaxBytes               int64
	Unacked, Pending, Problems    int
	DroppedBatches, WriteFailures uint64
}
