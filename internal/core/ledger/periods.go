// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"

	"github.com/gputally/gputally/internal/core/money"
)

// Scope is whose months are closed together: the clusters of one set, in one
// currency.
type Scope struct {
	Set      string         `json:"set,omitempty"`
	Currency money.Currency `json:"currency"`
}

// Has says whether a line stands in the scope's statements: one without a price
// stands in those of every currency of its set.
func (s Scope) Has(l *Line) bool {
	return l.Set == s.Set && (!l.Priced() || l.Currency == s.Currency)
}

// String names the scope for people.
func (s Scope) String() string {
	if s.Set == "" {
		return string(s.Currency)
	}
	return fmt.Sprintf("%s of set %q", s.Currency, s.Set)
}

// Periods says which months are closed. The zero value has one set of all
// clusters, and every month open.
type Periods struct {
	sets    map[string]string
	through map[Scope]Month
}

// NewPeriods takes the set of each cluster that is not in the set "" and the
// closed months, in any order.
func NewPeriods(sets map[string]string, closed []Closed) Periods {
	p := Periods{sets: sets, through: map[Scope]Month{}}
	for i := range closed {
		c := &closed[i]
		p.through[c.Scope] = max(p.through[c.Scope], c.Month)
		// What has no price has no currency. It stands in the statements of
		// every currency of its set, so the first of them to close closes it.
		unpriced := Scope{Set: c.Set}
		p.through[unpriced] = max(p.through[unpriced], c.Month)
	}
	return p
}

// SetOf is the set of a cluster.
func (p Periods) SetOf(cluster string) string { return p.sets[cluster] }

// Open is the month in which a line for a month is booked: that month, or,
// where it is closed, the first that is not. Months are closed in order, so
// every month up to the last closed one is closed.
func (p Periods) Open(s Scope, m Month) Month {
	if through, any := p.through[s]; any && m <= through {
		return through + 1
	}
	return m
}

// place is where a line is booked.
func (p Periods) place(f *Facts) Month {
	return p.Open(Scope{f.Set, f.Currency}, MonthOf(f.StartMS))
}
