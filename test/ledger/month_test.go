// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"bytes"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/listprices"
	"github.com/gputally/gputally/internal/adapter/pricebook"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// The month lies across two calendar months, so that the first can be closed
// while the second is open.
var (
	monthFrom = time.Date(2026, 10, 18, 0, 0, 0, 0, time.UTC)
	monthTo   = monthFrom.AddDate(0, 0, 30)
	// afterwards is when everything is rated.
	afterwards = monthTo.Add(3 * time.Hour)
)

// records are those of the whole month, by node, in the order in which agents
// wrote them.
var records = sync.OnceValue(func() map[string][]usage.Batch {
	return recordsOf(history.New(7, monthFrom, monthTo))
})

// days are the records of a few days of all nodes, for what needs no month: those
// in which the node cut its GPU anew, a GPU was lost and one leaked are others.
func days(from time.Time, n int) map[string][]usage.Batch {
	return recordsOf(history.New(7, from, from.AddDate(0, 0, n)))
}

func recordsOf(f *history.Fleet) map[string][]usage.Batch {
	out := map[string][]usage.Batch{}
	for _, n := range f.Nodes() {
		for b := range f.Batches(n.Name) {
			out[n.Name] = append(out[n.Name], b)
		}
	}
	return out
}

// bookText is a price book: the rack, which no list has.
const bookText = `pricebook: 1
name: books
currency: USD
rows:
- id: rack7
  labels: {example.com/rack: r7}
  on_prem: {purchase: 392000, residual: 98000, life_years: 4, power_kw: 6.8, pue: 1.35, tariff_kwh: 0.14, fixed_month: 2600}
`

// pricesOf are the prices of a book in YAML, before the list prices.
func pricesOf(t testing.TB, text string) (pricing.Policy, []*pricing.Book) {
	t.Helper()
	f, err := pricebook.Read(bytes.NewReader([]byte(text)), "books.yaml")
	if err != nil {
		t.Fatal(err)
	}
	list, err := listprices.Book()
	if err != nil {
		t.Fatal(err)
	}
	return pricing.DefaultPolicy(), []*pricing.Book{&f.Book, list}
}

// policy leaves every platform account apart.
var policy = allocation.Policy{ID: "books"}
