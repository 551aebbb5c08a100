// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/usage"
)

func TestMonth(t *testing.T) {
	m := month("2026-12")
	if m.String() != "2026-12" || (m+1).String() != "2027-01" || m.EndMS() != at("2027-01-01 00:00") || m.StartMS() != at("2026-12-01 00:00") {
		t.Errorf("December is %s to %d, then %s", m, m.EndMS(), m+1)
	}
	if MonthOf(m.EndMS()-1) != m || MonthOf(m.EndMS()) != m+1 {
		t.Error("a month does not end where the next begins")
	}
	for _, text := range []string{"", "2026-13", "2026-1", "26-01", "2026-12-01"} {
		if _, err := ParseMonth(text); err == nil || !strings.Contains(err.Error(), "such as 2026-11") {
			t.Errorf("%q: error %v", text, err)
		}
	}
}

func TestWideIsExact(t *testing.T) {
	draw := rapid.Custom(func(t *rapid.T) *big.Int {
		n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 15).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "below 0") {
			n.Neg(n)
		}
		return n
	})
	rapid.Check(t, func(t *rapid.T) {
		var sum Wide
		want := new(big.Int)
		for _, n := range rapid.SliceOfN(draw, 0, 20).Draw(t, "numbers") {
			var w Wide
			if err := w.UnmarshalText([]byte(n.String())); err != nil || w.String() != n.String() || w.Neg().Neg() != w || w.Sign() != n.Sign() {
				t.Fatalf("%s reads as %s, %v", n, w, err)
			}
			if got, exact := w.Float(), new(big.Float).SetInt(n); exact.Sub(exact, big.NewFloat(got)).Abs(exact).Cmp(big.NewFloat(max(got, -got)/1e14)) > 0 {
				t.Fatalf("%s is %g as a float", n, got)
			}
			if w.Neg().String() != new(big.Int).Neg(n).String() {
				t.Fatalf("-(%s) is %s", n, w.Neg())
			}
			sum.Add(w)
			want.Add(want, n)
		}
		if sum.String() != want.String() {
			t.Fatalf("sum %s, want %s", sum, want)
		}
	})
	for _, text := range []string{"", "x", "1.5", "170141183460469231731687303715884105728"} {
		if new(Wide).UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q reads as a number", text)
		}
	}
}

func TestDigestOfRecords(t *testing.T) {
	a, b := usage.Batch{Agent: "x", Boot: "b", Seq: 1}, usage.Batch{Agent: "x", Boot: "b", Seq: 2}
	digest := func(batches ...usage.Batch) string {
		return DigestRecords(batches)
	}
	all := digest(a, b)
	if digest(b, a, b) != all {
		t.Error("order or repetition changes the digest")
	}
	b.DurationMS++
	if digest(a, b) == all || digest(a) == all || digest() == all {
		t.Error("other records have the same digest")
	}
}

func TestTrail(t *testing.T) {
	_, closed := mayClosed(t, nil)
	var trail []Event
	for _, e := range []Event{{By: "finance", Action: ActionPrice, Subject: "book prices.csv", AtMS: 1}, closed.Event(), {By: "finance", Action: ActionVerify, Subject: "2025-05"}} {
		var last *Event
		if n := len(trail); n > 0 {
			last = &trail[n-1]
		}
		next, err := e.Follow(last)
		if err != nil {
			t.Fatal(err)
		}
		trail = append(trail, next)
	}
	if err := VerifyTrail(trail); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func([]Event) []Event{
		"changed":    func(e []Event) []Event { e[1].By = "nobody"; return e },
		"taken out":  func(e []Event) []Event { return slices.Delete(e, 1, 2) },
		"first gone": func(e []Event) []Event { return e[1:] },
		"swapped":    func(e []Event) []Event { e[0], e[1] = e[1], e[0]; return e },
		"changed and hashed again": func(e []Event) []Event {
			e[1].By = "nobody"
			e[1], _ = e[1].Follow(&e[0])
			return e
		},
		"by nobody": func(e []Event) []Event { e[2].By = ""; return e },
	} {
		if err := VerifyTrail(spoil(slices.Clone(trail))); err == nil || !strings.Contains(err.Error(), "event") {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if _, err := (Event{By: "x"}).Follow(nil); err == nil {
		t.Error("an event that says nothing is kept")
	}
}

// A line reads back as it was written: stores keep it as they like, and its
// canonical bytes are made from its fields.
func TestLinesReadBack(t *testing.T) {
	for _, l := range books(t).Lines {
		var back Line
		text := bytesOf(t, l)
		if err := json.Unmarshal([]byte(text), &back); err != nil || bytesOf(t, back) != text {
			t.Errorf("%s reads back as %s, %v", text, bytesOf(t, back), err)
		}
	}
}
