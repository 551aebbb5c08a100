// SPDX-License-Identifier: Apache-2.0

package pricing

import (
	"fmt"
	"strings"
)

// Answer is what one book says to a node at a moment.
type Answer struct {
	Book     string
	Revision string
	Grade    Grade
	// Used: the price is of this book.
	Used bool
	// Rows are the ids of the rows that choose the node, in the order in which
	// they are asked.
	Rows []string
	// Why is what came of it, in words.
	Why string
}

// Ask is the node as the books know it, and what each of them says at a moment,
// in their order of precedence: also those after the one that prices it.
func (p *Prices) Ask(n *Node, ms int64) (Node, []Answer, error) {
	node, err := p.ready(n)
	if err != nil {
		return node, nil, err
	}
	c := p.candidates(&node, ms, true)
	var out []Answer
	used := false
	for i, b := range c.of {
		a := Answer{Book: b.Name, Revision: b.Revision, Grade: b.Grade}
		for _, rows := range c.rows[i] {
			for _, r := range rows {
				a.Rows = append(a.Rows, r.ID)
			}
		}
		q := c.ask(b, c.rows[i], ms)
		a.Used = q.priced() && !used
		used = used || a.Used
		a.Why = c.answer(q, i, ms, a.Used)
		out = append(out, a)
	}
	return node, out, nil
}

// answer says what came of asking a book.
func (c *candidates) answer(q *quote, book int, ms int64, used bool) string {
	switch {
	case q.priced():
		var ids []string
		for _, r := range q.rows {
			ids = append(ids, r.ID)
		}
		verb := "prices the node"
		if !used {
			verb = "would price the node, if no book before it did"
		}
		return fmt.Sprintf("row %s %s", strings.Join(ids, ", "), verb)
	case q.reason != "":
		return q.reason
	}
	for _, rows := range c.rows[book] {
		for _, r := range rows {
			if why := r.whyNot(c.node, ms); why != "" {
				return fmt.Sprintf("row %s %s", r.ID, why)
			}
		}
	}
	return "no row chooses the node"
}
