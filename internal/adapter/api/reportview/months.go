// SPDX-License-Identifier: Apache-2.0

package reportview

import (
	"fmt"
	"strings"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// Months lists months.
func Months(m *v1.Months) string {
	if len(m.Months) == 0 {
		return "No month has charges yet.\n"
	}
	var b strings.Builder
	g := newGrid(left("MONTH"), left("CURRENCY"), left("SET"), left("STATE"), right("AMOUNT"), right("LINES"), left(""))
	for i := range m.Months {
		x := &m.Months[i]
		note := Plain(x.Why)
		if x.Closable {
			note = "can be closed"
		}
		if c := x.Closing; c != nil {
			note = fmt.Sprintf("%s by %s, hash %s", clock(c.At), Plain(c.By), short(c.SHA256))
			if c.Force != "" {
				note += "; forced: " + Plain(c.Force)
			}
		}
		g.add(x.Month, x.Currency, Plain(x.Set), x.State, exact(x.Amount), whole(int64(x.Lines)), note)
	}
	g.text(&b)
	return b.String()
}

// exact is an exact amount with its thousands apart.
func exact(text string) string {
	units, rest, dot := strings.Cut(text, ".")
	sign := ""
	if cut, ok := strings.CutPrefix(units, "-"); ok {
		sign, units = "-", cut
	}
	if dot {
		rest = "." + rest
	}
	return sign + thousands(units) + rest
}

// Month is a month with its statements.
func Month(m *v1.Month) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s: %s\n", m.Month, scope(m.Set, m.Currency), m.State)
	rows := [][2]string{{"  amount", exact(m.Amount) + " " + m.Currency}, {"  lines", whole(int64(m.Lines))}}
	if m.UnratedHours > 0 {
		rows = append(rows, [2]string{"  not rated", count(int64(m.UnratedHours), "hour of a node", "hours of nodes")})
	}
	if m.UnpricedHours > 0 {
		rows = append(rows, [2]string{"  no price", count(int64(m.UnpricedHours), "hour of a node", "hours of nodes")})
	}
	c := m.Closing
	if c == nil {
		if m.Closable {
			rows = append(rows, [2]string{"  next", "gputally period close " + m.Month})
		} else {
			rows = append(rows, [2]string{"  in the way", orNone(Plain(m.Why))})
		}
		pairs(&b, rows)
		return b.String()
	}
	rows = append(rows, [2]string{"  closed", clock(c.At) + " by " + Plain(c.By)})
	for _, x := range [][2]string{{"  note", c.Note}, {"  forced", c.Force}, {"  hash", c.SHA256}, {"  month before", c.Previous}} {
		if x[1] != "" {
			rows = append(rows, [2]string{x[0], Plain(x[1])})
		}
	}
	pairs(&b, rows)
	if len(c.Statements) == 0 {
		return b.String()
	}
	b.WriteString("\n")
	g := newGrid(left("STATEMENT OF"), left("CLASS"), right("AMOUNT "+m.Currency), right("LINES"), right("UNPRICED H"), left("SHA-256"))
	for _, s := range c.Statements {
		g.add(Plain(s.Account), s.Class, exact(s.Amount), whole(int64(s.Lines)), hours(s.UnpricedMS), s.SHA256)
	}
	g.text(&b)
	return b.String()
}

// Closing asks whether an open month is to be closed, and says what that means.
func Closing(m *v1.Month, level string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "This closes %s, %s, for good:\n", m.Month, scope(m.Set, m.Currency))
	rows := [][2]string{
		{"  clusters", clusters(m.Set)}, {"  total", exact(m.Amount) + " " + m.Currency},
		{"  frozen", fmt.Sprintf("%s in %s, one for each %s", count(int64(m.Lines), "line", "lines"), count(int64(m.Statements), "statement", "statements"), level)},
	}
	if m.Why != "" {
		rows = append(rows, [2]string{"  missing", Plain(m.Why)})
	}
	pairs(&b, append(rows, [2]string{"  later", "what changes or arrives for it becomes a correction in the open month"}))
	b.WriteString("It cannot be undone. Write yes to close it: ")
	return b.String()
}

func clusters(set string) string {
	if set == "" {
		return "those in no set"
	}
	return "the set " + Plain(set)
}

// Verified says of closed months whether they are as they were closed.
func Verified(v *v1.Verified) string {
	if len(v.Months) == 0 {
		return "No month is closed.\n"
	}
	var b strings.Builder
	for i := range v.Months {
		m := &v.Months[i]
		if m.Violation == nil {
			fmt.Fprintf(&b, "%s, %s: as it was closed (%s, hash %s)\n", m.Month.Month, scope(m.Set, m.Currency), count(int64(m.Lines), "line", "lines"), short(m.Closing.SHA256))
			continue
		}
		fmt.Fprintf(&b, "%s, %s: NOT as it was closed: %s\n", m.Month.Month, scope(m.Set, m.Currency), violation(m.Violation))
	}
	return b.String()
}

func violation(v *v1.Violation) string {
	out := v.Invariant + ": " + Plain(v.Detail)
	if l := v.Line; l != nil {
		out += fmt.Sprintf("\n  line %s: %s, %s %s, %s, entry %s", Plain(l.ID), clock(l.Start), nodeName(l.Cluster, l.Node), l.Resource, Plain(l.Account), Plain(l.Entry))
	}
	return out
}

// Checked is the outcome of a check of the ledger.
func Checked(c *v1.Checked) string {
	of := fmt.Sprintf("%s, %s, %s", count(c.Hours, "hour of a node", "hours of nodes"), count(c.Lines, "line", "lines"), count(int64(c.Months), "closed month", "closed months"))
	if c.Violation == nil {
		return "Everything holds: " + of + " were checked.\n"
	}
	return "DOES NOT HOLD: " + violation(c.Violation) + "\n" + of + " were looked at until then.\n"
}

// Trail lists events.
func Trail(events []v1.Event) string {
	if len(events) == 0 {
		return "The trail is empty.\n"
	}
	var b strings.Builder
	g := newGrid(right("NO"), left("WHEN"), left("WHO"), left("WHAT"), left("TO WHAT"), left("DETAIL"), left("SHA-256"))
	for i := range events {
		e := &events[i]
		g.add(whole(int64(e.Seq)), clock(e.At), Plain(e.By), e.Action, Plain(e.Subject), Plain(e.Detail), short(e.SHA256))
	}
	g.text(&b)
	return b.String()
}

// Backup says where a copy of the store is.
func Backup(b *v1.Backup) string {
	return fmt.Sprintf("%s in %s on the server, made in %s s.\n", bytes(b.Bytes), Plain(b.Dir), decimals(float64(b.TookMS)/1000, 1))
}
