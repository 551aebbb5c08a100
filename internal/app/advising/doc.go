// SPDX-License-Identifier: Apache-2.0

// Package advising owns the work around advice: it makes the activity of hours as
// they are rated, answers what is advised for whom, keeps what people say to it, and
// compares before and after.
//
// It does not own the rules (core/activity, core/advice, core/advisor), the ledger
// that money is compared by (app/billing), nor the tables (an adapter).
package advising
