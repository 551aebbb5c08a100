// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/ledger"
)

// hourMS is an hour in milliseconds.
const hourMS = 3_600_000

// Spec says what is to be reported.
type Spec struct {
	// The time: either hours of UTC, [FromMS, ToMS) in Unix milliseconds, or a
	// month.
	FromMS int64        `json:"from_ms,omitempty"`
	ToMS   int64        `json:"to_ms,omitempty"`
	Month  ledger.Month `json:"month,omitzero"`
	// Booked takes what was booked in the month, as its statements have it,
	// instead of what its hours cost as is now known.
	Booked bool `json:"booked,omitempty"`
	// Open takes the hours that were never booked instead, as far as their records
	// have come: whoever has them rates them for the report.
	Open  bool        `json:"open,omitempty"`
	By    []Dimension `json:"by,omitempty"`
	Where []Filter    `json:"where,omitempty"`
	// Cost says which lines count as cost; the zero value is Net.
	Cost CostBasis `json:"cost,omitempty"`
	// View says on whom platform accounts are shown; the zero value is Apart.
	View View `json:"view,omitempty"`
	// Top keeps so many rows of workloads, those that cost most, and adds the
	// others up in one row. Platform accounts always have their own. 0: all.
	Top int `json:"top,omitempty"`
}

// CostBasis says which lines count.
type CostBasis string

// The bases: everything that was booked, or only the first rating of each hour.
const (
	Net     CostBasis = "net"
	Charged CostBasis = "charged"
)

// View says on whom the cost of platform accounts is shown.
type View string

// The views: with every platform account apart, or as the policy distributed
// them when the lines were booked.
const (
	Apart       View = "apart"
	Distributed View = "distributed"
)

// Filter keeps lines by one dimension.
type Filter struct {
	By Dimension `json:"by"`
	// In are the values of which a line must have one, or, with Not, none.
	In  []string `json:"in"`
	Not bool     `json:"not,omitempty"`
}

func (s *Spec) cost() CostBasis {
	if s.Cost == "" {
		return Net
	}
	return s.Cost
}

func (s *Spec) view() View {
	if s.View == "" {
		return Apart
	}
	return s.View
}

// between is the time of the hours that are reported on.
func (s *Spec) between() (from, to int64) {
	if s.Month != 0 {
		return s.Month.StartMS(), s.Month.EndMS()
	}
	return s.FromMS, s.ToMS
}

// Invalid is a setting of a report that cannot be.
type Invalid struct {
	Field   string   `json:"field"`
	Value   string   `json:"value"`
	Allowed []string `json:"allowed,omitempty"`
	Why     string   `json:"why,omitempty"`
}

// Error names the field, its value and what may stand there.
func (e *Invalid) Error() string {
	text := fmt.Sprintf("report: %s is %q", e.Field, e.Value)
	if e.Why != "" {
		text += ": " + e.Why
	}
	if len(e.Allowed) > 0 {
		text += "; allowed: " + strings.Join(e.Allowed, ", ")
	}
	return text
}

// Check returns an *Invalid that names the first setting that cannot be.
// pods: dimensions of pods can be looked up.
func (s *Spec) Check(pods bool) error {
	if err := s.checkTime(); err != nil {
		return err
	}
	if err := s.checkBy(pods); err != nil {
		return err
	}
	for i, f := range s.Where {
		if err := f.check(fmt.Sprintf("where[%d]", i), pods); err != nil {
			return err
		}
	}
	switch {
	case !slices.Contains([]CostBasis{Net, Charged}, s.cost()):
		return &Invalid{Field: "cost", Value: string(s.Cost), Allowed: []string{string(Net), string(Charged)}}
	case !slices.Contains([]View{Apart, Distributed}, s.view()):
		return &Invalid{Field: "view", Value: string(s.View), Allowed: []string{string(Apart), string(Distributed)}}
	case s.Top < 0:
		return &Invalid{Field: "top", Value: fmt.Sprint(s.Top), Why: "write how many rows, or 0 for all"}
	}
	return nil
}

func (s *Spec) checkTime() error {
	hours := fmt.Sprintf("%s to %s", clock(s.FromMS), clock(s.ToMS))
	ranged := s.FromMS != 0 || s.ToMS != 0
	switch {
	case ranged && s.Month != 0:
		return &Invalid{Field: "month", Value: s.Month.String(), Why: "there is a time, too (" + hours + "): give one of them"}
	case s.Open && s.Month != 0:
		return &Invalid{Field: "open", Value: "true", Why: "hours that are not booked have no month yet: give a time, from and to"}
	case s.Month != 0:
		return nil
	case s.Booked:
		return &Invalid{Field: "booked", Value: "true", Why: "lines are booked in months: give a month"}
	case !ranged:
		return &Invalid{Field: "from", Value: "", Why: "give a time, from and to, or a month"}
	case s.FromMS%hourMS != 0 || s.ToMS%hourMS != 0 || s.FromMS >= s.ToMS:
		return &Invalid{Field: "from", Value: hours, Why: "give whole hours of UTC, the first before the last"}
	}
	return nil
}

func (s *Spec) checkBy(pods bool) error {
	for i, d := range s.By {
		field := fmt.Sprintf("by[%d]", i)
		if err := d.check(field, pods); err != nil {
			return err
		}
		if slices.Contains(s.By[:i], d) {
			return &Invalid{Field: field, Value: string(d), Why: "it is there twice"}
		}
	}
	return nil
}

func (f *Filter) check(field string, pods bool) error {
	if err := f.By.check(field+".by", pods); err != nil {
		return err
	}
	switch {
	case f.By.isTime():
		return &Invalid{Field: field + ".by", Value: string(f.By), Why: "a time is chosen by from and to, or by month"}
	case len(f.In) == 0:
		return &Invalid{Field: field + ".in", Value: "", Why: "give at least one value"}
	}
	return nil
}

func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04Z") }
