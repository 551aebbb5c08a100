// SPDX-License-Identifier: Apache-2.0

package inquiry

import (
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/report"
)

// Variant is another way to divide cost. What is zero is as it is in force.
type Variant struct {
	Name   string
	Policy *allocation.Policy
	Split  pricing.Rule
}

// VariantReport is what a variant would have come to.
type VariantReport struct {
	Variant
	Report report.Report
}

// WhatIf is a report as it was booked and as variants would have it.
type WhatIf struct {
	Booked   report.Report
	Variants []VariantReport
	// Hours of nodes were divided again; Missing of them have no records any
	// more and are in no variant.
	Hours, Missing int64
}
