// SPDX-License-Identifier: Apache-2.0

package inquiry

import (
	"io"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// Delivery is the files of one bill.
type Delivery struct {
	// Source is the operator's id of where the bill comes from.
	Source string
	// Periods are those that the delivery holds completely; none: it holds one.
	Periods []bill.Period
	By      string
	Files   []DeliveredFile
}

// DeliveredFile is one of them.
type DeliveredFile struct {
	Name string
	Data io.ReaderAt
	Size int64
}

// Imported is what came of a delivery, so that a person can compare it with the
// provider's own figures.
type Imported struct {
	Source string
	Format string
	Hash   string
	Rows   int64
	Lines  int64
	// Machines is how many lines pay for a machine, Repeated how many tell a
	// provider's split cost once more and count nowhere.
	Machines, Repeated int64
	Charges            bill.Period // span of all charge periods
	Periods            []ImportedPeriod
	Totals             []bill.FiledSum
	LeftOut            []LeftOut
	// Notes are what was odd, such as amounts that were rounded.
	Notes []string
	// HoursDue is how many hours of nodes are rated anew because of it.
	HoursDue int
}

// ImportedPeriod is a billing period of a delivery.
type ImportedPeriod struct {
	Period bill.Period
	Change bill.Change
	Sums   []BillSum
}

// BillSum is the sums of a period in one currency.
type BillSum struct {
	Currency  money.Currency
	Lines     int64
	Effective money.Sum
	Billed    money.Sum
}

// LeftOut are rows that were not taken, and why.
type LeftOut struct {
	Reason string
	Rows   int64
}

// Reconciliation sets a month's bills beside what was metered.
type Reconciliation struct {
	Month ledger.Month
	// Matched are hours of machines that are on a bill and were metered.
	// CostOnly are on a bill only, TelemetryOnly were metered only. The lists
	// are by machine, those that cost most first.
	Matched       Bucket
	CostOnly      Bucket
	TelemetryOnly Bucket
}

// Bucket is hours of machines.
type Bucket struct {
	Machines int
	Hours    int64
	Amounts  []Amount // per currency, in order of their codes
	// Largest are some of the machines; there may be more.
	Largest []MachineHours
}

// Amount is an exact sum in a currency.
type Amount struct {
	Currency money.Currency
	Amount   money.Sum
}

// MachineHours are hours of one machine.
type MachineHours struct {
	Instance     bill.Instance
	InstanceType string
	// Cluster and Node are set where telemetry knows the machine.
	Cluster, Node string
	Hours         int64
	Amounts       []Amount
	// FirstMS and LastMS are the first and the last of these hours.
	FirstMS, LastMS int64
}
