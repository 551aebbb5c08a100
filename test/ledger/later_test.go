// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/report"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/history"
)

// added are the lines that were not there before.
func added(before, after []ledger.Line) (out []ledger.Line) {
	had := map[string]bool{}
	for i := range before {
		had[before[i].ID] = true
	}
	for i := range after {
		if !had[after[i].ID] {
			out = append(out, after[i])
		}
	}
	return out
}

// onlyIn fails where lines are of another node or other hours.
func onlyIn(t *testing.T, lines []ledger.Line, node string, from, to time.Time) {
	t.Helper()
	if len(lines) == 0 {
		t.Fatal("nothing was booked")
	}
	for i := range lines {
		if l := &lines[i]; l.Node != node || l.HourMS < from.Truncate(time.Hour).UnixMilli() || l.HourMS >= to.UnixMilli() {
			t.Fatalf("a line of %s moved, and only %s from %s to %s changed", l.NodeHour, node, from, to)
		}
	}
}

// TestLateRecords: six hours of a node's records come after the hours were rated
// without them. Only these hours move, only by adjustments, and in the end the
// books are those of an undisturbed delivery.
func TestLateRecords(t *testing.T) {
	from := fewFrom.AddDate(0, 0, 1).Add(9 * time.Hour)
	to := from.Add(6 * time.Hour)
	whole, _ := few(t, nil)
	b, late := few(t, func(b *usage.Batch) bool { return b.Node == history.NodeGCP && during(b, from, to) })
	if len(late) < 24 {
		t.Fatalf("%d batches are late, want those of six hours", len(late))
	}
	before := b.lines(ledger.Query{})
	unmeasured := sumOf(accountOf(netOf(before), "unmeasured"))
	b.deliver(late)
	b.rate()
	after := b.lines(ledger.Query{})
	news := added(before, after)
	onlyIn(t, news, history.NodeGCP, from, to)
	var moved money.Sum
	for i := range news {
		if news[i].Kind != ledger.Adjustment {
			t.Fatalf("late records booked a %s: %+v", news[i].Kind, news[i])
		}
		moved.Add(*news[i].Amount)
	}
	if moved != (money.Sum{}) {
		t.Errorf("the adjustments sum to %s: what the node cost did not change", moved.String())
	}
	if now := sumOf(accountOf(netOf(after), "unmeasured")); now.Cmp(unmeasured) >= 0 {
		t.Errorf("unmeasured was %s and is %s", unmeasured.String(), now.String())
	}
	sameBooks(t, netOf(whole.lines(ledger.Query{})), netOf(after))
	b.sound()
}

func accountOf(of map[string]net, account string) map[string]net {
	out := map[string]net{}
	for id, n := range of {
		if n.Account == account {
			out[id] = n
		}
	}
	return out
}

// contract is a price of the p4d from a moment on.
const contract = bookText + `- {id: p4d, provider: aws, region: us-east-1, instance_type: p4d.24xlarge, node_hour: 18, from: 2026-11-01T12:00:00Z}
`

// TestPriceChange: a contract for one instance type from a moment on. Its node's
// hours from then move, by what the price differs, and no others.
func TestPriceChange(t *testing.T) {
	b, _ := few(t, nil)
	before := b.lines(ledger.Query{})
	b.loader.book = contract
	b.rate()
	since, end := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC), fewFrom.AddDate(0, 0, fewDays)
	news := added(before, b.lines(ledger.Query{}))
	onlyIn(t, news, history.NodeAWS, since, end.Add(time.Hour))
	var moved money.Sum
	for i := range news {
		moved.Add(*news[i].Amount)
	}
	// 12 hours, and, after the last record, an interval of a quarter of an hour more.
	want := -(nano(t, "21.957642") - nano(t, "18")) * (12*4 + 1) / 4
	if got, err := moved.Nano(); err != nil || got != want || end.Sub(since) != 12*time.Hour || history.Interval != time.Hour/4 {
		t.Errorf("the books moved by %s, want %s", moved.String(), want)
	}
	b.sound()

	// The contract was a mistake: everything goes back, to the billionth.
	b.loader.book = bookText
	b.rate()
	sameBooks(t, netOf(before), netOf(b.lines(ledger.Query{})))
	b.sound()
}

// TestClosedMonth: October is closed; then records of it arrive. Nothing of October
// changes; November has corrections that say what they are for, and the two months
// together are what an undisturbed delivery comes to.
func TestClosedMonth(t *testing.T) {
	from := time.Date(2026, 10, 31, 6, 0, 0, 0, time.UTC)
	to := from.Add(4 * time.Hour)
	whole, _ := few(t, nil)
	b, late := few(t, func(b *usage.Batch) bool { return b.Node == history.NodeRack && during(b, from, to) })
	october := october(t)
	closed, err := b.service.CloseMonth(t.Context(), inquiry.CloseRequest{Scope: ledger.Scope{Currency: "USD"}, Month: october, Level: ledger.ByNamespace, By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	before := b.lines(ledger.Query{})
	statement := b.statements(closed)
	b.deliver(late)
	b.rate()
	news := added(before, b.lines(ledger.Query{}))
	onlyIn(t, news, history.NodeRack, from, to)
	for i := range news {
		if l := &news[i]; l.Kind != ledger.Correction || l.Period != october+1 || l.ChargeMonth() != october {
			t.Fatalf("after the closing a %s for %s was booked in %s", l.Kind, l.ChargeMonth(), l.Period)
		}
	}
	if b.statements(closed) != statement {
		t.Error("a statement of the closed month changed")
	}
	verified, err := b.service.VerifyMonths(t.Context(), october, func(inquiry.Progress) {})
	if err != nil || len(verified) != 1 || verified[0].Violation != nil {
		t.Errorf("verify: %+v %v", verified, err)
	}
	sameBooks(t, netOf(whole.lines(ledger.Query{})), netOf(b.lines(ledger.Query{})))
	b.booked(october, closed.Amount)
	b.sound()
	if _, err := b.service.CloseMonth(t.Context(), inquiry.CloseRequest{Scope: ledger.Scope{Currency: "USD"}, Month: october + 1, Level: ledger.ByNamespace, By: "test"}); err == nil || !strings.Contains(err.Error(), "not over") {
		t.Errorf("November can be closed before it is over: %v", err)
	}
}

func october(t testing.TB) ledger.Month {
	t.Helper()
	m, err := ledger.ParseMonth("2026-10")
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func nano(t testing.TB, text string) money.Nano {
	t.Helper()
	n, err := money.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// statements are the bytes of all statements of a closed month.
func (b *books) statements(c ledger.Closed) string {
	b.t.Helper()
	var all strings.Builder
	for _, s := range c.Statements {
		r, err := b.service.Statement(b.t.Context(), c.Scope, c.Month, s.Payer)
		if err != nil {
			b.t.Fatal(err)
		}
		if _, err := io.Copy(&all, r); err != nil {
			b.t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			b.t.Fatal(err)
		}
	}
	if all.Len() == 0 {
		b.t.Fatalf("%s has no statements", c.Month)
	}
	return all.String()
}

// booked holds a report of what was booked in a month against its statements.
func (b *books) booked(m ledger.Month, want string) {
	b.t.Helper()
	r, err := b.service.Report(b.t.Context(), report.Spec{Month: m, Booked: true, By: []report.Dimension{report.Namespace}})
	if err != nil || len(r.Sections) != 1 {
		b.t.Fatalf("%d sections: %v", len(r.Sections), err)
	}
	if got := r.Sections[0].Total.Cost.Total.String(); got != want {
		b.t.Errorf("the report of what was booked in %s is %s, its statements %s", m, got, want)
	}
}
