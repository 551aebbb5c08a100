// SPDX-License-Identifier: Apache-2.0

package focus

import (
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Origin is one charge: usually what one node costs in one hour, by the bill
// or by a price list. It is written whole, or split into rows.
type Origin struct {
	// ID names the charge for good (x_OriginChargeId): a file has it once, its
	// corrections apart.
	ID string

	BillingAccountID, BillingAccountName string
	SubAccountID, SubAccountName         string
	InvoiceID                            string
	InvoiceIssuer                        string // empty: the service provider

	Billing, Charge Span
	Currency        money.Currency
	Costs

	Category Category
	// Correction marks a change of a billing period that was invoiced: Billing
	// is the open period then, Charge the original one.
	Correction bool
	// Moves says that the rows move money of an earlier split: their ratios sum
	// to 0, not to 1. Correct sets it.
	Moves bool
	// Reason says why a correction was made.
	Reason string

	Frequency       string // empty: Usage-Based for usage, else One-Time
	Description     string
	PricingCategory string // Standard, Committed, Dynamic (spot), Other
	// Quantity is the amount of Unit that is priced and consumed: 1 Hours of a
	// node. Costs without a quantity, such as taxes, have neither.
	Quantity Quantity
	Unit     string

	ServiceProvider string
	HostProvider    string // empty: the service provider
	Publisher       string // empty: the service provider
	ServiceName     string
	ServiceCategory string // empty: Compute
	// ServiceSubcategory must be one of the category's.
	ServiceSubcategory string // empty: Virtual Machines for Compute, else Other (Category)

	ResourceID, ResourceName, ResourceType string
	RegionID, RegionName, Zone             string
	SkuID, SkuMeter, SkuPriceID            string
	InstanceType                           string
	GPUCount                               int64 // 0: not told
	// Tags are the origin's own, kept on every row.
	Tags map[string]string

	// Method is the documented way the charge was split (AllocatedMethodId),
	// with its version.
	Method string
	Price  Price
}

// Costs are the four costs of FOCUS.
type Costs struct {
	Billed, Effective, List, Contracted money.Nano
}

// Span is [Start, End).
type Span struct{ Start, End time.Time }

// Quantity is an amount of a unit in billionths: 1 hour is 1_000_000_000.
type Quantity int64

// One is one whole unit.
const One Quantity = 1_000_000_000

// String is the exact decimal number.
func (q Quantity) String() string { return money.Nano(q).String() }

// Category is FOCUS's ChargeCategory.
type Category string

// The categories of FOCUS.
const (
	Usage      Category = "Usage"
	Purchase   Category = "Purchase"
	Tax        Category = "Tax"
	Credit     Category = "Credit"
	Adjustment Category = "Adjustment"
)

// Price says where the origin's price comes from (x_ columns).
type Price struct {
	Source, Row, Revision string
	Grade                 string // listed or billed
	Split                 string // id of the rule that split the node's price
	Policy                string // id of the allocation policy
}

// Row is one part of a split charge: what a pod pays of it, or a platform
// account.
type Row struct {
	// ResourceID is the pod's UID (AllocatedResourceId); empty for a platform
	// account, which is what nobody was given.
	ResourceID   string
	ResourceName string // empty: the ResourceID
	// Tags are the pod's labels that are cost dimensions (AllocatedTags). What
	// the origin's Tags say already is left out.
	Tags map[string]string
	// Costs are the row's part of the origin's. Complete fills Billed, List and
	// Contracted where no row of the split tells them.
	Costs
	// Quantity is the row's part of the origin's; Complete fills it.
	Quantity Quantity
	// Elements say by what the part was found. They sum to Effective. Complete
	// makes one where there is none.
	Elements []Element
	Detail   Detail
}

// Element is one component of a row: GPU memory, CPU, memory.
type Element struct {
	Unit string // such as "GiB-Hours"; empty: not told
	// Used is the quantity of Unit as a decimal number; empty: not told.
	Used   string
	Amount money.Nano
	// Ratio is the share of the origin charge in billionths; Complete fills it.
	Ratio Quantity
}

// Detail is what FOCUS has no column for (x_ columns). Empty is null.
type Detail struct {
	// PlatformAccount is idle, stranded, overhead, unattributed, host,
	// unavailable or unmeasured; Note tells more, such as driver_reserve.
	PlatformAccount, Note string
	Kind                  string // direct or shared
	Grade                 string
	Cluster, Node         string
	Namespace, Pod        string
	WorkloadKind, Workload,
	SharingMode, GPUModel, GPU, Partition string
}
