// SPDX-License-Identifier: Apache-2.0

package top

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
)

// mib prints bytes as whole MiB, thousands apart, with the mark of its grade.
// What is not a whole number of MiB is rounded to the nearest.
func (g Glyphs) mib(b *uint64, grade gpu.Grade) string {
	if b == nil {
		return g.Unknown
	}
	return thousands(*b) + gradeMark(grade)
}

func thousands(bytes uint64) string {
	s := strconv.FormatUint((bytes+gpu.MiB/2)/gpu.MiB, 10)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// gradeMark is the suffix of a figure that is not measured. The legend (see
// legend) explains each.
func gradeMark(g gpu.Grade) string {
	switch g {
	case gpu.Derived:
		return "="
	case gpu.Estimated:
		return "~"
	case gpu.Indivisible:
		return "*"
	case gpu.Skewed:
		return "!"
	case gpu.Unmeasured:
		return "?"
	}
	return ""
}

// percent prints a signal, 0..1, on the one scale of all signals.
func (g Glyphs) percent(v *float64, grade gpu.Grade) string {
	if v == nil || math.IsNaN(*v) {
		return g.Unknown
	}
	return fmt.Sprintf("%.0f %%%s", 100**v, gradeMark(grade))
}

func share(part, whole *uint64) string {
	if part == nil || whole == nil || *whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(*part)/float64(*whole))
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func clock(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05Z") }

// clean makes text of a node safe for a terminal: a process may be named with
// control characters.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}
