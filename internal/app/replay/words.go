// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/usage"
)

// mib prints bytes as MiB with its thousands apart; unknown is a word.
func mib(b *uint64) string {
	if b == nil {
		return "unknown"
	}
	whole := thousands(strconv.FormatUint(*b/gpu.MiB, 10))
	if *b%gpu.MiB == 0 {
		return whole
	}
	return fmt.Sprintf("%s.%d", whole, *b%gpu.MiB*10/gpu.MiB)
}

func thousands(s string) string {
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func percent(part, whole *uint64) string {
	if part == nil || whole == nil || *whole == 0 {
		return ""
	}
	return fmt.Sprintf("%.1f %%", 100*float64(*part)/float64(*whole))
}

// gibHours prints byte-milliseconds as GiB-hours.
func gibHours(t usage.Total) string {
	return fmt.Sprintf("%.3f", t.ByteSeconds()/3600/(1<<30))
}

// mean prints the mean of a sum over the time in which it was known, in MiB.
func mean(t usage.Total, ms int64) string {
	if ms == 0 {
		return "unknown"
	}
	s := fmt.Sprintf("%.1f", t.ByteSeconds()*1000/float64(ms)/gpu.MiB)
	whole, part, _ := strings.Cut(s, ".")
	return thousands(whole) + "." + part
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return thousands(strconv.Itoa(n)) + " " + what + "s"
}

// span prints a length of time.
func span(ms int64) string {
	s := (time.Duration(ms) * time.Millisecond).String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

func grades(set map[gpu.Grade]bool) string {
	var out []string
	for g := range set {
		out = append(out, string(g))
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// shorten cuts the middle out of a name that is too long.
func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}

// wrapped prints a text in lines, the first after a head and the others
// indented.
func (p *printer) wrapped(head, text string) {
	line := head
	for i, word := range strings.Fields(text) {
		if i > 0 && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			p.line("%s", line)
			line = strings.Repeat(" ", 10)
		} else if i > 0 {
			line += " "
		}
		line += word
	}
	p.line("%s", line)
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
