// SPDX-License-Identifier: Apache-2.0

package browser

import (
	"math/big"
	"strings"
	"testing"
	"time"
)

// TestFigures holds what pages say to what the API says, where the page works it out.
func TestFigures(t *testing.T) {
	server := start(t) // to which tests deliver more
	device := fill(t, server)
	b := open(t, server)
	b.size(t, 1440, 900)
	for _, c := range []struct {
		name string
		test func(t *testing.T, b *tab, server, device string)
	}{{"truth", truth}, {"truth exact", truthIsExact}, {"what if", whatIf}, {"guardrails", guardrails}, {"engine", engine}, {"gone", gone}} {
		t.Run(c.name, func(t *testing.T) {
			c.test(t, b, server, device)
			for _, x := range b.complaints() {
				t.Error(x)
			}
		})
	}
}

// nano is a decimal of the API in billionths.
func nano(t *testing.T, text string) *big.Int {
	t.Helper()
	r, ok := new(big.Rat).SetString(text)
	if !ok {
		t.Fatalf("%q is no amount", text)
	}
	r.Mul(r, new(big.Rat).SetInt64(1_000_000_000))
	if !r.IsInt() {
		t.Fatalf("%q is finer than a billionth", text)
	}
	return r.Num()
}

// cents is an amount as the page writes it.
func cents(n *big.Int) string {
	r := new(big.Rat).SetFrac(n, big.NewInt(1_000_000_000))
	text := r.FloatString(2)
	whole, part, _ := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if strings.HasPrefix(text, "-") && (whole != "0" || part != "00") {
		whole = "−" + whole
	}
	return whole + "." + part
}

// row is one of a report.
type row struct {
	Keys    map[string]string
	Class   string
	Account string
	Cost    *struct{ Total, GPU string }

	Quantities struct {
		GPUMS     int64 `json:"gpu_ms"`
		GrantedMS int64 `json:"granted_ms"`
	}
}

func report(t *testing.T, url string) []row {
	t.Helper()
	var r struct{ Sections []struct{ Rows []row } }
	ask(t, url, &r)
	if len(r.Sections) != 1 || len(r.Sections[0].Rows) == 0 {
		t.Fatalf("%s: %+v", url, r)
	}
	return r.Sections[0].Rows
}

// lastHours are the whole hours that a page shows of a range.
func lastHours(d time.Duration) string {
	from, to := lastWhole(d)
	return "from=" + from + "&to=" + to
}

func lastWhole(d time.Duration) (from, to string) {
	now := time.Now().UTC()
	up := now.Truncate(time.Hour)
	if up.Before(now) {
		up = up.Add(time.Hour)
	}
	return now.Add(-d).Truncate(time.Hour).Format(time.RFC3339), up.Format(time.RFC3339)
}
