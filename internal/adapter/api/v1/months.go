// SPDX-License-Identifier: Apache-2.0

package v1

import (
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
)

// Months are months of the ledger.
type Months struct {
	Months []Month `json:"months" doc:"By set, currency and month."`
}

// Month is a month of a set of clusters and a currency.
type Month struct {
	Set           string   `json:"set,omitempty" doc:"The set of clusters; left out: those in no set."`
	Currency      string   `json:"currency"`
	Month         string   `json:"month" example:"2026-11"`
	State         string   `json:"state" enum:"open,closed"`
	Lines         int      `json:"lines"`
	Amount        string   `json:"amount" doc:"The exact sum of what is booked in it."`
	UnratedHours  int      `json:"unrated_hours" doc:"Hours of nodes that should be rated and are not (of a closed month: were not)."`
	UnpricedHours int      `json:"unpriced_hours" doc:"Hours of nodes without a price."`
	Closable      bool     `json:"closable" doc:"It is over, the month before is closed, and nothing is missing."`
	Why           string   `json:"why,omitempty" doc:"What stands in the way of closing it."`
	Closing       *Closing `json:"closing,omitempty" doc:"Of a closed month."`
	// Statements is of a preview.
	Statements int `json:"statements,omitempty" doc:"Of a preview: how many statements closing it would write."`
}

// Closing is how a month was closed.
type Closing struct {
	At         time.Time   `json:"at"`
	By         string      `json:"by"`
	Note       string      `json:"note,omitempty"`
	Force      string      `json:"force,omitempty" doc:"Why it was closed with hours missing."`
	Unrated    []NodeHour  `json:"unrated,omitempty" doc:"Some of the hours that were not rated."`
	Level      string      `json:"level" enum:"account,namespace"`
	Statements []Statement `json:"statements"`
	Previous   string      `json:"previous,omitempty" doc:"The hash of the month before."`
	SHA256     string      `json:"sha256" doc:"Of all of it. Keep it somewhere else, too."`
}

// Statement is one statement of a closed month.
type Statement struct {
	Class      string `json:"class" enum:"workload,owner,platform,reconciliation"`
	Account    string `json:"account"`
	Lines      int    `json:"lines"`
	Amount     string `json:"amount"`
	UnpricedMS int64  `json:"unpriced_ms,omitempty"`
	SHA256     string `json:"sha256" doc:"Of the statement's bytes."`
}

// MonthsOf makes the shape of months.
func MonthsOf(months []inquiry.MonthState) Months {
	return Months{Months: list(months, MonthOf)}
}

// MonthOf makes the shape of a month.
func MonthOf(m *inquiry.MonthState) Month {
	if m.Closed != nil {
		return closedOf(m.Closed)
	}
	return Month{
		Set: m.Set, Currency: string(m.Currency), Month: m.Month.String(), State: "open", Lines: m.Lines, Amount: m.Amount,
		UnratedHours: m.UnratedHours, UnpricedHours: m.UnpricedHours, Closable: m.Closable, Why: m.Why,
	}
}

// PreviewOf makes the shape of a month that would be closed.
func PreviewOf(p *inquiry.ClosePreview) Month {
	m := MonthOf(&p.MonthState)
	m.Statements = p.Statements
	return m
}

// ClosedOf makes the shape of a closed month.
func ClosedOf(c *ledger.Closed) Month { return closedOf(c) }

func closedOf(c *ledger.Closed) Month {
	return Month{
		Set: c.Set, Currency: string(c.Currency), Month: c.Month.String(), State: "closed", Lines: c.Lines, Amount: c.Amount,
		UnratedHours: c.UnratedHours, UnpricedHours: c.UnpricedHours,
		Closing: &Closing{
			At: start(c.AtMS), By: c.By, Note: c.Note, Force: c.Force, Level: string(c.Level), Previous: c.Previous, SHA256: c.SHA256,
			Unrated: list(c.Unrated, func(h *ledger.NodeHour) NodeHour { return *nodeHourOf(h) }),
			Statements: list(c.Statements, func(d *ledger.Digest) Statement {
				return Statement{string(d.Class), d.Account, d.Lines, d.Amount, d.UnpricedMS, d.SHA256}
			}),
		},
	}
}

// CloseMonth asks for a month to be closed.
type CloseMonth struct {
	_        struct{} `additionalProperties:"false"`
	Set      string   `json:"set,omitempty" doc:"The set of clusters; left out: those in no set."`
	Currency string   `json:"currency" pattern:"^[A-Z]{3}$" example:"USD"`
	Level    string   `json:"level,omitempty" enum:"account,namespace" default:"namespace" doc:"One statement for each pod, or for each namespace."`
	By       string   `json:"by" minLength:"1" maxLength:"200" doc:"Who asks. Where the server knows who that is, its name for them is kept before this."`
	Note     string   `json:"note,omitempty" maxLength:"2000"`
	Force    string   `json:"force,omitempty" maxLength:"2000" doc:"Close though hours are missing, and why. It stands in the closed month for good."`
	Preview  bool     `json:"preview,omitempty" doc:"Change nothing: answer what would be closed, or why it cannot be."`
}
