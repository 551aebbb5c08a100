// SPDX-License-Identifier: Apache-2.0

package storetest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
)

func (b *books) events() (out []ledger.Event) {
	b.t.Helper()
	for e, err := range b.Events(context.Background()) {
		b.must(err)
		out = append(out, e)
	}
	return out
}

func trail(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	var want []ledger.Event
	for i := range 3000 {
		if i > 100 && i%500 != 0 {
			continue
		}
		e, err := b.AddEvent(context.Background(), ledger.Event{AtMS: int64(i), By: "kim's", Action: ledger.ActionPrice, Subject: fmt.Sprint("book \x00", i), Digest: "d"})
		b.must(err)
		want = append(want, e)
		if i == 50 {
			b.reopen()
		}
	}
	got := b.events()
	alike(t, "events", want, got)
	b.must(ledger.VerifyTrail(got))
	if _, err := b.AddEvent(context.Background(), ledger.Event{By: "kim"}); err == nil {
		t.Error("an event that says nothing was kept")
	}
}

func textsByKey(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	ctx := context.Background()
	want := map[string][]byte{}
	put := func(key string, text []byte) {
		b.must(b.KeepText(ctx, key, text))
		want[key] = text
	}
	put("a", []byte("one"))
	put("b'", []byte{0, 255, '\''})
	put("a", []byte("another"))
	put("empty", []byte{})
	put("large", slices.Repeat([]byte("0123456789"), 200_000))
	for range 2 {
		for key, text := range want {
			got, err := b.Text(ctx, key)
			b.must(err)
			if got == nil || !slices.Equal(got, text) {
				t.Errorf("%q has %d bytes, want %d", key, len(got), len(text))
			}
		}
		if got, err := b.Text(ctx, "nothing"); err != nil || got != nil {
			t.Errorf("nothing is %v, %v", got, err)
		}
		b.reopen()
	}
}

func (b *books) file(f bill.Filed, hours ...bill.Hour) bill.Change {
	b.t.Helper()
	change, err := b.File(context.Background(), f, hours)
	b.must(err)
	return change
}

func (b *books) billHours(from, to int64) (out []bill.Hour) {
	b.t.Helper()
	for h, err := range b.BillHours(context.Background(), time.UnixMilli(from), time.UnixMilli(to)) {
		b.must(err)
		out = append(out, *h)
	}
	return out
}

func compareBillHours(a, b bill.Hour) int {
	return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.StartMS, b.StartMS), cmp.Compare(a.Currency, b.Currency), slices.Compare(a.Sources, b.Sources))
}

func everyFieldOfABill(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	run := 0
	rapid.Check(t, func(t *rapid.T) {
		run++
		b := b.with(t)
		var f bill.Filed
		fill(t, reflect.ValueOf(&f).Elem())
		f.Source, f.Period = fmt.Sprint("source ", run), bill.Period{StartMS: int64(run) * 1000, EndMS: int64(run)*1000 + 1000}
		for i := range f.Totals {
			f.Totals[i].Amount = f.Totals[i].Effective.String()
		}
		var hours []bill.Hour
		for i := range rapid.IntRange(0, 6).Draw(t, "hours") {
			var h bill.Hour
			fill(t, reflect.ValueOf(&h).Elem())
			h.StartMS, h.Sources = f.Period.StartMS+int64(i/2), []string{f.Source, fmt.Sprint(i)}
			hours = append(hours, h)
		}
		if change := b.file(f, hours...); change != bill.Added {
			t.Fatalf("it was %s", change)
		}
		got := b.billHours(f.Period.StartMS, f.Period.EndMS)
		if !slices.IsSortedFunc(got, func(a, b bill.Hour) int {
			return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.StartMS, b.StartMS), cmp.Compare(a.Currency, b.Currency))
		}) {
			t.Fatalf("hours are not in order: %v", got)
		}
		slices.SortFunc(hours, compareBillHours)
		slices.SortFunc(got, compareBillHours)
		alike(t, "hours", hours, got)
		filed, err := b.Filed(context.Background())
		b.must(err)
		i := slices.IndexFunc(filed, func(has bill.Filed) bool { return has.Source == f.Source })
		if i < 0 {
			t.Fatalf("%q is not filed", f.Source)
		}
		alike(t, "filed", f, filed[i])
	})
}

func imports(t *testing.T, open OpenLedger) {
	b := startBooks(t, open)
	sep, oct := bill.Month(2026, time.September), bill.Month(2026, time.October)
	hour := func(source string, n int, at int64) bill.Hour {
		return bill.Hour{Instance: bill.Instance(fmt.Sprint("i-", n)), StartMS: at, Currency: "USD", Effective: nano(int64(n)), Sources: []string{source}}
	}
	filed := func(source, hash string, p bill.Period) bill.Filed {
		return bill.Filed{Source: source, Hash: hash, Period: p, AtMS: 5, By: "kim", Lines: 3}
	}
	for _, step := range []struct {
		f    bill.Filed
		h    []bill.Hour
		want bill.Change
	}{
		{filed("b", "1", sep), []bill.Hour{hour("b", 1, sep.StartMS), hour("b", 2, sep.StartMS)}, bill.Added},
		{filed("a", "2", sep), []bill.Hour{hour("a", 1, sep.StartMS)}, bill.Added},
		{filed("b", "3", oct), []bill.Hour{hour("b", 9, oct.StartMS)}, bill.Added},
		{filed("b", "1", sep), nil, bill.Unchanged},
		{filed("b", "4", sep), []bill.Hour{hour("b", 1, sep.StartMS), hour("b", 3, sep.StartMS)}, bill.Replaced},
	} {
		if got := b.file(step.f, step.h...); got != step.want {
			t.Errorf("%+v was %s, want %s", step.f, got, step.want)
		}
		b.reopen()
	}
	alike(t, "hours of September", []bill.Hour{hour("a", 1, sep.StartMS), hour("b", 1, sep.StartMS), hour("b", 3, sep.StartMS)}, b.billHours(sep.StartMS, sep.EndMS))
	alike(t, "hours of October", []bill.Hour{hour("b", 9, oct.StartMS)}, b.billHours(sep.EndMS, oct.EndMS))
	got, err := b.Filed(context.Background())
	b.must(err)
	alike(t, "filed", []bill.Filed{filed("a", "2", sep), filed("b", "4", sep), filed("b", "3", oct)}, got)
	overlapping := filed("b", "5", bill.Period{StartMS: sep.StartMS + 1, EndMS: sep.EndMS})
	if _, err := b.File(context.Background(), overlapping, nil); err == nil {
		t.Error("an import that overlaps another was filed")
	}
	events := b.events()
	b.must(ledger.VerifyTrail(events))
	if len(events) != 4 || events[3].Digest != "4" || events[3].Action != ledger.ActionBill {
		t.Errorf("trail %+v", events)
	}
}
