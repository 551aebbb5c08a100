// SPDX-License-Identifier: Apache-2.0

package advice

import "github.com/gputally/gputally/internal/core/activity"

// RulesVersion changes whenever a rule or a number below does. It is part of a
// recommendation's identity.
const RulesVersion = "2026-12"

// The numbers of the rules. They are judgement, and in one place.
const (
	// MinMeasured is the share of the granted time that must be measured.
	MinMeasured = 0.90
	// SMMost and LoadMost bound SM activity, and DRAM activity of what the
	// interface can reach, on the proposed hardware. TensorMost is for tensor.
	SMMost     = 0.80
	LoadMost   = 0.70
	TensorMost = 0.80
	// SharedMost bounds activity, and DRAM of what can be reached, of several
	// tenants together.
	SharedMost = 0.80
	// CorrelationMost is from where two tenants work at the same hours.
	CorrelationMost = 0.30
	// PoolHeadroom is for peaks of a pool between two scrapes.
	PoolHeadroom = 1.25
	// HitRateMost is from where a pool that looks empty is a prefix cache.
	HitRateMost = 0.20
	// CalmScrapes is the share of scrapes in which nothing may wait.
	CalmScrapes = 0.999
	// IdleCPU is CPU as a share of the request, from which a pod is at work.
	IdleCPU = activity.IdleCPU
	// SteadyClass is the share of time in one class from which it is steady.
	SteadyClass = 0.80
	// MonthHours is a month in every figure of money.
	MonthHours = 730
)

// Margin on memory that is needed whatever happens: exceeding it ends the
// workload, so the most ever held is multiplied by marginNum/marginDen, in
// whole bytes.
const (
	marginNum = 115
	marginDen = 100
)

// tenantBytes is what each further context on a device costs.
const tenantBytes = 512 << 20

const (
	hourMS = int64(3_600_000)
	dayMS  = 24 * hourMS
)

// Work is what sort of workload it is. It decides how long is looked at and
// which percentile counts.
type Work string

// The sorts of work.
const (
	Serving  Work = "serving"
	Notebook Work = "notebook"
	Training Work = "training"
)

// periodMS is how long must have been seen; trainings count completed runs.
func (w Work) periodMS() int64 {
	if w == Training {
		return 0
	}
	return 14 * dayMS
}

// minRuns is how many completed runs of a training must have been seen.
const minRuns = 3

// permille is the percentile of a minute's signals that counts: latency is felt
// in the worst minutes, a batch job's duration is not.
func (w Work) permille() int64 {
	if w == Training {
		return 950
	}
	return 990
}
