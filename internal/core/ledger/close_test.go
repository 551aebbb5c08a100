// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

var usd = Scope{Currency: "USD"}

func closing(m string) Closing {
	return Closing{Scope: usd, Month: month(m), Level: ByAccount, AtMS: month(m).EndMS(), By: "finance"}
}

func idle(weight int64) partOf {
	return partOf{kind: allocation.Platform, account: allocation.Idle, weight: weight, grade: gpu.Measured}
}

func TestCloseRefuses(t *testing.T) {
	j, may2025 := mayClosed(t, may(10, resource("a", 1)))
	for want, spoil := range map[string]func(*Closing){
		"is not over":           func(c *Closing) { c.AtMS-- },
		"nobody is named":       func(c *Closing) { c.By = "" },
		"level":                 func(c *Closing) { c.Level = "team" },
		"ISO 4217":              func(c *Closing) { c.Currency = "" },
		"is of USD":             func(c *Closing) { c.Currency = "CNY" },
		"close 2025-06 first":   func(c *Closing) { c.Month++; c.AtMS = c.Month.EndMS() },
		"2 hours are not rated": func(c *Closing) { c.Unrated = []NodeHour{mayHour, {"c", "m", 0}} },
	} {
		c := closing("2025-06")
		spoil(&c)
		_, err := Close(c, &may2025, StatementLines(j.lines, usd, c.Month, ByAccount), nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	c := closing("2025-05")
	c.Earliest = month("2025-03")
	if _, err := Close(c, nil, StatementLines(j.lines, usd, c.Month, ByAccount), nil); err == nil || !strings.Contains(err.Error(), "lines are booked in 2025-03") {
		t.Errorf("a month was closed before the first: %v", err)
	}
}

func TestCloseRefusesUnpricedHoursUnlessForced(t *testing.T) {
	h := may(10, resource("a", 1), idle(1))
	h.currency = ""
	j := newJournal()
	r, costs := h.rating(t, 1)
	j.rate(t, r, costs)
	c := closing("2025-05")
	if _, err := Close(c, nil, StatementLines(j.lines, usd, c.Month, ByAccount), nil); err == nil || !strings.Contains(err.Error(), "1 hours of nodes have no price") {
		t.Fatalf("error %v, want one about the price", err)
	}
	c.Force, c.Unrated = "the auditors wait", []NodeHour{{"c", "z", 1}, {"c", "m", 1}}
	closed := j.close(t, c)
	if closed.UnpricedHours != 1 || closed.UnratedHours != 2 || closed.Unrated[0].Node != "m" || closed.Force != c.Force {
		t.Errorf("the closed month keeps %+v", closed)
	}
	if many, err := Close(manyUnrated(c), nil, StatementLines(j.lines, usd, c.Month, ByAccount), nil); err != nil || many.UnratedHours != 12 || len(many.Unrated) != 10 {
		t.Errorf("of 12 hours %d are counted and %d named, %v", many.UnratedHours, len(many.Unrated), err)
	}
	if e := closed.Event(); e.Action != ActionForce || !strings.Contains(e.Detail, c.Force) {
		t.Errorf("the trail keeps %+v", e)
	}
	if got := closed.Statements[0]; got.UnpricedMS != 1_800_000 || got.Amount != "0.00" {
		t.Errorf("the first statement is %+v", got)
	}
	// The price comes: a correction takes the unknown back and books the money.
	h.currency = "USD"
	want(t, correct(t, j, h),
		booked{"ns-a/a", Reversed, Correction, "2025-06", "an unknown amount", -1_800_000, true},
		booked{"ns-a/a", Booked, Correction, "2025-06", "0.000000005", 1_800_000, true},
		booked{"idle", Reversed, Correction, "2025-06", "an unknown amount", -1_800_000, true},
		booked{"idle", Booked, Correction, "2025-06", "0.000000005", 1_800_000, true})
	if june := j.close(t, closing("2025-06")); june.UnpricedHours != 0 {
		t.Errorf("June has %d hours without a price", june.UnpricedHours)
	}
}

func manyUnrated(c Closing) Closing {
	c.Unrated = nil
	for i := range int64(12) {
		c.Unrated = append(c.Unrated, NodeHour{"c", "m", mayHour.HourMS + i*hourMS})
	}
	return c
}

// A scope that begins later than another says nothing about what had no price
// before.
func TestScopesBeginApart(t *testing.T) {
	j := newJournal()
	h := may(10, resource("a", 1))
	h.currency = ""
	r, costs := h.rating(t, 1)
	j.rate(t, r, costs)
	c := closing("2025-05")
	c.Currency, c.Force = "CNY", "no price yet"
	j.close(t, c)
	june := may(10, resource("a", 1))
	june.HourMS = at("2025-06-01 00:00")
	r, costs = june.rating(t, june.HourMS+hourMS)
	j.rate(t, r, costs)
	j.close(t, closing("2025-06"))
	j.sound(t)
}

func TestStatementsByNamespace(t *testing.T) {
	h := may(12, resource("a", 1), idle(1))
	h.pots[0].parts = append(h.pots[0].parts, partOf{kind: allocation.Leak, account: "a", name: "a", weight: 1, grade: gpu.Derived})
	j := newJournal()
	r, costs := h.rating(t, 1)
	r.Entries = append(r.Entries, allocation.Entry{
		ID: "owner", Cluster: "c", Node: "n", HourMS: mayHour.HourMS, StartMS: mayHour.HourMS, DurationMS: hourMS, Resource: allocation.ResourceGPU,
		Slot: "gpu0", Kind: allocation.Shared, Account: "research", From: allocation.Idle, Amount: new(money.Nano(0)), Currency: "USD", Quantities: allocation.Quantities{Grade: gpu.Measured},
	})
	j.rate(t, r, costs)
	j.add(t, bulk(t, j, 3))
	c := closing("2025-05")
	c.Level = ByNamespace
	closed := j.close(t, c)
	var got []string
	for _, s := range closed.Statements {
		got = append(got, fmt.Sprint(s.Payer, " ", s.Lines, " ", s.Amount))
	}
	if diff := cmp.Diff([]string{
		"workload ns-a 2 0.000000008", "owner research 1 0.00", "platform idle 1 0.000000004", "reconciliation reconciliation 1 0.000000003",
	}, got); diff != "" {
		t.Errorf("statements (-want +got):\n%s", diff)
	}
	j.sound(t)
}

func bulk(t *testing.T, j *journal, amount money.Nano) []Line {
	lines, err := BookDrift(nil, Drift{
		Reference: "invoice", Currency: "USD", Amount: amount, FromMS: month("2025-05").StartMS(), ToMS: month("2025-05").EndMS(), Revision: Revision{Reason: "rounding"},
	}, j.periods())
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

func TestCloseTakesOnlyItsOwnLinesInOrder(t *testing.T) {
	j := newJournal()
	r, costs := may(10, resource("a", 1), resource("b", 1)).rating(t, 1)
	j.rate(t, r, costs)
	seq := func(lines ...*Line) iter.Seq2[*Line, error] {
		return func(yield func(*Line, error) bool) {
			for _, l := range lines {
				if !yield(l, nil) {
					return
				}
			}
		}
	}
	a, b := j.lines[0], j.lines[1]
	other := a
	other.Period++
	for want, lines := range map[string][]*Line{
		"comes after": {&b, &a}, "each once": {&a, &a}, "is of 2025-06": {&other},
	} {
		if _, err := Close(closing("2025-05"), nil, seq(lines...), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
	broken := func(yield func(*Line, error) bool) { yield(nil, errors.New("disk")) }
	if _, err := Close(closing("2025-05"), nil, broken, nil); err == nil || !strings.Contains(err.Error(), "disk") {
		t.Errorf("error %v, want that of the store", err)
	}
	full := func(Payer) (io.Writer, error) { return nil, errors.New("no room") }
	if _, err := Close(closing("2025-05"), nil, seq(&a), full); err == nil || !strings.Contains(err.Error(), "no room") {
		t.Errorf("error %v, want that of the keeper", err)
	}
}

// Verify names the first thing that differs: the line where the bytes were kept.
func TestVerifyNamesWhatDiffers(t *testing.T) {
	for name, c := range map[string]struct {
		spoil func(*journal)
		is    Invariant
		says  string
		line  bool
	}{
		"amount":          {func(j *journal) { *j.lines[1].Amount++ }, StatementOff, "account ns-b/b", true},
		"reason":          {func(j *journal) { j.lines[2].Revision.Reason = "because" }, StatementOff, "account idle", true},
		"line gone":       {func(j *journal) { j.lines = j.lines[:2] }, StatementOff, "idle", false},
		"first line gone": {func(j *journal) { j.lines = j.lines[1:] }, StatementOff, "ns-a/a", false},
		"line added": {func(j *journal) {
			extra := j.lines[2]
			extra.ID = "ff"
			j.lines = append(j.lines, extra)
		}, StatementOff, "line ff", true},
		"payer added": {func(j *journal) {
			extra := j.lines[2]
			extra.ID, extra.Account = "ff", "zzz"
			j.lines = append(j.lines, extra)
		}, StatementOff, "platform zzz", false},
		"total":                  {func(j *journal) { j.closed[0].Amount = "11.00" }, PeriodChanged, "hash", false},
		"total, hashed again":    {func(j *journal) { j.closed[0].Amount = "11.00"; rehash(t, &j.closed[0]) }, PeriodChanged, "it was closed with 3, 11.00", false},
		"unpriced, hashed again": {func(j *journal) { j.closed[0].UnpricedHours = 4; rehash(t, &j.closed[0]) }, PeriodChanged, "4 hours without a price", false},
		"who":                    {func(j *journal) { j.closed[0].By = "somebody else" }, PeriodChanged, "hash", false},
		"month":                  {func(j *journal) { j.closed[0].Previous = "beef"; rehash(t, &j.closed[0]) }, PeriodGap, "beef", false},
		"frozen":                 {func(j *journal) { corrupt(j) }, StatementOff, "ns-a/a", true},
		"frozen tail":            {func(j *journal) { appendTo(j) }, StatementOff, "extra", false},
	} {
		t.Run(name, func(t *testing.T) {
			j, closed := mayClosed(t, may(12, resource("a", 1), resource("b", 1), idle(1)))
			if err := j.verify(closed); err != nil {
				t.Fatal(err)
			}
			c.spoil(j)
			err := j.verify(j.closed[0])
			var v *Violation
			if !errors.As(err, &v) || v.Invariant != c.is || !strings.Contains(v.Error(), c.says) || (v.Line != nil) != c.line {
				t.Fatalf("%v, want %s that says %q, with a line: %v", err, c.is, c.says, c.line)
			}
			frozen := j.frozen
			j.frozen = nil // without the kept bytes a statement is named at least
			if err := Verify(j.closed[0], nil, StatementLines(j.lines, usd, month("2025-05"), ByAccount), nil); !strings.HasPrefix(name, "frozen") && !errors.As(err, &v) {
				t.Errorf("without the kept bytes: %v", err)
			}
			j.frozen = frozen
		})
	}
}

func rehash(t *testing.T, c *Closed) {
	var err error
	if c.SHA256, err = c.hash(); err != nil {
		t.Fatal(err)
	}
}

func frozenOf(j *journal, account string) string {
	for k := range j.frozen {
		if strings.Contains(k, account) {
			return k
		}
	}
	return ""
}

func corrupt(j *journal) {
	k := frozenOf(j, "ns-a/a")
	j.frozen[k] = []byte(strings.Replace(string(j.frozen[k]), `"step":"book"`, `"step":"bonk"`, 1))
}

func appendTo(j *journal) {
	k := frozenOf(j, "idle")
	j.frozen[k] = append(j.frozen[k], "extra\n"...)
}

func TestVerifyKnowsItsFormat(t *testing.T) {
	_, closed := mayClosed(t, nil)
	closed.Version = 2
	rehash(t, &closed)
	if err := Verify(closed, nil, StatementLines(nil, usd, closed.Month, ByAccount), nil); err == nil || !strings.Contains(err.Error(), "use a newer one") {
		t.Errorf("error %v", err)
	}
}

// TestCanonicalBytes pins what is hashed. Were it to change, no closed month
// could be verified any more: make a new version beside this one instead.
func TestCanonicalBytes(t *testing.T) {
	h := may(12, resource("a", 2), idle(1))
	h.pots[0].parts[0].grade = gpu.Estimated
	j, closed := mayClosed(t, h)
	const statement = `{"statement":1,"currency":"USD","month":"2025-05","class":"workload","account":"ns-a/a"}
{"id":"1bacb0e04f17df967ba918838cb8ae70","kind":"charge","step":"book","seq":1,"booking":1,"period":"2025-05","entry":"ab548c5ba49f6b46d62901a1a554dfcb","cluster":"c","node":"n","hour_ms":1746057600000,"start_ms":1746057600000,"duration_ms":3600000,"resource":"gpu","slot":"gpu0","partition":{"device":"GPU-gpu0","instance":4294967295},"entry_kind":"direct","account":"ns-a/a","holder":{"kind":"pod","pod_uid":"a","namespace":"ns-a","pod":"a"},"policy":"held","currency":"USD","price":"listed","amount":"0.000000008","share_ms":2400000,"used_ms":1200000,"unused_ms":800000,"byte_ms":"2400007200000","present_ms":2400000,"grade":"estimated","grades":[{"grade":"estimated","share_ms":2400000,"amount":"0.000000008"}],"basis":{"grade":"listed","hourly":"0.00"},"revision":{"policy":"held","at_ms":1746316800000}}
{"lines":1,"amount":"0.000000008"}
`
	if diff := cmp.Diff(statement, string(j.frozen[frozenOf(j, "ns-a/a")])); diff != "" {
		t.Errorf("statement (-want +got):\n%s", diff)
	}
	const sum = "5e74dc0bfca4523ed935090c8bb67cb7cfd2cafb96932d73c3fb7b9ecf0b44fa"
	if closed.SHA256 != sum {
		t.Errorf("the closed month hashes to %s, it was %s:\n%s", closed.SHA256, sum, bytesOf(t, closed))
	}
}

// Months of different currencies are closed apart; what has no price stands in
// both and is closed with the first.
func TestCurrenciesCloseApart(t *testing.T) {
	j := newJournal()
	for node, currency := range map[string]money.Currency{"d": "USD", "y": "CNY", "u": ""} {
		h := may(10, resource("a", 1))
		h.NodeHour.Node, h.currency = node, currency
		r, costs := h.rating(t, 1)
		j.rate(t, r, costs)
	}
	c := closing("2025-05")
	c.Force = "u has no price"
	j.close(t, c)
	late := may(10, resource("b", 1))
	for node, want := range map[string]string{"d": "2025-06", "y": "2025-05", "u": "2025-06"} {
		i := slices.IndexFunc(j.lines, func(l Line) bool { return l.Node == node })
		late.NodeHour, late.currency = j.lines[i].NodeHour, j.lines[i].Currency
		r, costs := late.rating(t, c.AtMS+1)
		for _, l := range j.rate(t, r, costs) {
			if l.Period.String() != want {
				t.Errorf("a line of node %s is booked in %s, want %s", node, l.Period, want)
			}
		}
	}
	c.Currency, c.AtMS = "CNY", c.AtMS+hourMS
	j.close(t, c)
	j.sound(t)
}
