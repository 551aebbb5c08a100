// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"net/http"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

func (h *handler) routeChecks() {
	steps(h, operation(http.MethodGet, "/checks/ledger", "checkLedger", "Check the ledger",
		"Verifies every invariant over the stored lines and names the first that does not hold. Without a time: all of it.", heavy), h.checkLedger)
	steps(h, operation(http.MethodGet, "/checks/months", "checkMonths", "Check closed months",
		"Makes closed months again from their lines and compares the hashes.", heavy), h.checkMonths)
	get(h, operation(http.MethodGet, "/checks/prices", "checkPrices", "Check the prices",
		"Nodes and hours without a price, nodes priced by a guess, doubtful rows of the books.", heavy), h.checkPrices)
}

type checkQuery struct {
	Span
	SkipMonths bool `query:"skip_months" doc:"Do not check closed months."`
}

func (h *handler) checkLedger(ctx context.Context, q *checkQuery, progress func(inquiry.Progress)) (out v1.Checked, err error) {
	r := inquiry.CheckRequest{Months: !q.SkipMonths}
	if !q.empty() {
		if r.FromMS, r.ToMS, err = q.hours(h.Now()); err != nil {
			return out, err
		}
	}
	c, err := h.Books.CheckLedger(ctx, r, progress)
	if err != nil {
		return out, err
	}
	return v1.CheckedOf(&c), nil
}

type checkMonthsQuery struct {
	Month string `query:"month" doc:"Only this one." example:"2026-11"`
}

func (h *handler) checkMonths(ctx context.Context, q *checkMonthsQuery, progress func(inquiry.Progress)) (out v1.Verified, err error) {
	var m ledger.Month
	if q.Month != "" {
		if m, err = parseMonth("month", q.Month); err != nil {
			return out, err
		}
	}
	verified, err := h.Books.VerifyMonths(ctx, m, progress)
	if err != nil {
		return out, err
	}
	return v1.VerifiedOf(verified), nil
}

func (h *handler) checkPrices(ctx context.Context, q *Span) (out v1.PriceCheck, err error) {
	if q.empty() {
		q.From = clock((h.Now().UnixMilli()/hourMS - 7*24) * hourMS)
	}
	from, to, err := q.hours(h.Now())
	if err != nil {
		return out, err
	}
	c, err := h.Books.CheckPrices(ctx, from, to)
	if err != nil {
		return out, err
	}
	return v1.PriceCheckOf(&c), nil
}
