// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/money"
)

var update = flag.Bool("update", false, "write the tables of docs/real-fleets.md anew")

const docs = "../../docs/real-fleets.md"

// documented checks that the document has the table, or writes it.
func documented(t *testing.T, name string, lines ...string) {
	t.Helper()
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	begin, end := fmt.Sprintf("<!-- generated: %s -->\n", name), "<!-- end of generated -->"
	before, rest, ok := strings.Cut(string(text), begin)
	had, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no part %q", docs, begin)
	}
	want := "\n" + strings.Join(lines, "\n") + "\n\n"
	if had == want {
		return
	}
	if !*update {
		t.Errorf("the tables %q of %s are not what comes out; go test ./test/fleets -update writes them, make docs the Chinese ones.\nhas:\n%s\nwant:\n%s", name, docs, had, want)
		return
	}
	if err := os.WriteFile(docs, []byte(before+begin+want+end+after), 0o644); err != nil {
		t.Fatal(err)
	}
}

// row is a line of a table.
func row(cells ...any) string {
	var b strings.Builder
	for _, c := range cells {
		fmt.Fprintf(&b, "| %v ", c)
	}
	return b.String() + "|"
}

func head(cells ...any) []string {
	rule := make([]any, len(cells))
	for i := range rule {
		rule[i] = "---"
	}
	return []string{row(cells...), strings.ReplaceAll(row(rule...), " ", "")}
}

// byPolicy is a table of what the accounts come to under each policy.
type byPolicy struct{ lines []string }

func (p *byPolicy) add(name string, b *Books) {
	if p.lines == nil {
		p.lines = head("policy", "pods", "idle", "overhead and unattributed", "sum", "nodes cost", "difference")
	}
	pods := b.Of(func(e *allocation.Entry) bool { return e.Kind == allocation.Direct || e.Kind == allocation.Leak }).Money
	idle := b.Of(func(e *allocation.Entry) bool { return e.Account == allocation.Idle }).Money
	other := b.Of(func(e *allocation.Entry) bool {
		return e.Kind == allocation.Platform && e.Account != allocation.Idle
	}).Money
	var sum money.Sum
	for _, s := range []money.Sum{pods, idle, other} {
		sum.AddSum(s)
	}
	off := b.Cost().Neg()
	off.AddSum(sum)
	p.lines = append(p.lines, row(name, pods, idle, other, sum, b.Cost(), off))
}

func hoursText(ms int64) string { return fmt.Sprintf("%.1f", float64(ms)/hourMS) }
