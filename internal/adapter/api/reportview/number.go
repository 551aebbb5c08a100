// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// unknown stands where nobody knows.
const unknown = "unknown"

// places is with how many decimal places amounts of a table are shown, so that
// the smallest of them still say something beside the largest.
func places(largest money.Sum) int {
	switch x := math.Abs(largest.Float()); {
	case x == 0, x >= 10:
		return 2
	case x >= 0.1:
		return 4
	case x >= 0.001:
		return 6
	}
	return 9
}

// amount is an amount for people: rounded half to even, thousands apart.
func amount(s money.Sum, places int) string {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(9-places)), nil)
	n := s.Big()
	quotient, rest := new(big.Int).QuoRem(n, unit, new(big.Int))
	twice := new(big.Int).Abs(new(big.Int).Lsh(rest, 1))
	if c := twice.Cmp(unit); c > 0 || c == 0 && quotient.Bit(0) == 1 {
		quotient.Add(quotient, big.NewInt(int64(n.Sign())))
	}
	sign := ""
	if quotient.Sign() < 0 {
		sign = "-"
	}
	digits := new(big.Int).Abs(quotient).String()
	if len(digits) <= places {
		digits = strings.Repeat("0", places+1-len(digits)) + digits
	}
	return sign + thousands(digits[:len(digits)-places]) + "." + digits[len(digits)-places:]
}

// nano is an amount as a sum.
func nano(n money.Nano) (s money.Sum) {
	s.Add(n)
	return s
}

// thousands puts commas between groups of three digits.
func thousands(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

func whole(n int64) string {
	if n < 0 {
		return "-" + thousands(strconv.FormatInt(n, 10)[1:])
	}
	return thousands(strconv.FormatInt(n, 10))
}

// decimals is a number for people.
func decimals(x float64, places int) string {
	text := strconv.FormatFloat(math.Abs(x), 'f', places, 64)
	units, rest, dot := strings.Cut(text, ".")
	out := thousands(units)
	if dot {
		out += "." + rest
	}
	if x < 0 && strings.Trim(text, "0.") != "" {
		out = "-" + out
	}
	return out
}

// hours is milliseconds as hours.
func hours(ms int64) string {
	x := float64(ms) / 3_600_000
	if ms != 0 && math.Abs(x) < 1 {
		return decimals(x, 3)
	}
	return decimals(x, 1)
}

// gibHours is byte-milliseconds as GiB × hours.
func gibHours(w ledger.Wide) string {
	x := w.Float() / (1 << 30) / 3_600_000
	if w.Sign() != 0 && math.Abs(x) < 1 {
		return decimals(x, 3)
	}
	return decimals(x, 1)
}

// percent is a part of a whole; "-" where there is none.
func percent(part, of money.Sum) string {
	if of == (money.Sum{}) {
		return "-"
	}
	x := 100 * part.Float() / of.Float()
	switch {
	case part == of:
		return "100 %"
	case part == (money.Sum{}):
		return "0 %"
	case x > 0 && x < 1:
		return "<1 %"
	case x > 99 && x < 100:
		return ">99 %"
	}
	return decimals(x, 0) + " %"
}

// mix is the parts of a total with their fractions, largest first as they come.
func mix(parts []v1.Part, total money.Sum) string {
	var out []string
	for _, p := range parts {
		if p.Amount != (money.Sum{}) {
			out = append(out, p.Name+" "+percent(p.Amount, total))
		}
	}
	if len(out) == 0 {
		return "-"
	}
	return strings.Join(out, ", ")
}

func sumOf(parts []v1.Part) (s money.Sum) {
	for _, p := range parts {
		s.AddSum(p.Amount)
	}
	return s
}

// clock is a moment for people.
func clock(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format("2006-01-02 15:04 UTC")
}

// count is a number with its noun.
func count(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return whole(n) + " " + many
}

// bytes is a size for people.
func bytes(n int64) string {
	switch x := float64(n); {
	case n >= 1<<30:
		return decimals(x/(1<<30), 1) + " GiB"
	case n >= 1<<20:
		return decimals(x/(1<<20), 1) + " MiB"
	case n >= 1<<10:
		return decimals(x/(1<<10), 1) + " KiB"
	}
	return whole(n) + " bytes"
}

// day is a day for people.
func day(t time.Time) string { return t.UTC().Format(time.DateOnly) }
