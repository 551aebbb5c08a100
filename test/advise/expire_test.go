// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/money"
)

// server is a node on which one Deployment has a card, under a template, on so many cards.
func server(kind, template string, cards ...int) *node {
	n := &node{name: "n8", kind: kind, model: a100, capacity: 80 * gib, gpus: 8, window: time.Hour}
	n.pods = []pod{{namespace: "emb", kind: "Deployment", owner: "bge", name: "bge-" + template + "-aaaaa", gpus: cards, held: 64 * gib / 10, busy: 0.4, sm: 0.10, dram: 0.06, cpu: 0.3}}
	return n
}

// TestExpiry: what was said ends when the workload's template, layout or price is another
// one, and is advice again; what was dismissed for good, or made, does not end.
func TestExpiry(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(w *world) *node // what is there on the day after
		say    inquiry.Decision
		state  advice.State
		why    string
	}{
		{"as it was", func(*world) *node { return server("n8a", "7d4b9c6f5", 0) }, inquiry.Decision{State: advice.Accepted}, advice.Accepted, ""},
		{"another template", func(*world) *node { return server("n8a", "5f7d8c9b6", 0) }, inquiry.Decision{State: advice.Accepted}, advice.Expired, "its template is 5f7d8c9b6 and was 7d4b9c6f5"},
		{"dismissed for a time", func(*world) *node { return server("n8a", "5f7d8c9b6", 0) }, inquiry.Decision{State: advice.Dismissed, Reason: "no", UntilMS: end.AddDate(1, 0, 0).UnixMilli()}, advice.Expired, "its template"},
		{"dismissed for good", func(*world) *node { return server("n8a", "5f7d8c9b6", 0) }, inquiry.Decision{State: advice.Dismissed, Reason: "no"}, advice.Dismissed, ""},
		{"made", func(*world) *node { return server("n8a", "5f7d8c9b6", 0) }, inquiry.Decision{State: advice.Accepted, AppliedMS: end.UnixMilli()}, advice.Applied, ""},
		{"two cards", func(*world) *node { return server("n8a", "7d4b9c6f5", 0, 1) }, inquiry.Decision{State: advice.Accepted}, advice.Expired, "it has 2 × A100-SXM4-80GB and had 1 ×"},
		{"another price", func(w *world) *node { w.book["n8a"] = 16 * money.Unit; return server("n8a", "7d4b9c6f5", 0) }, inquiry.Decision{State: advice.Accepted}, advice.Expired, "costs 2.00 USD an hour and cost 3.00 USD"},
		{"gone", func(*world) *node { n := server("n8a", "7d4b9c6f5", 0); n.pods = nil; return n }, inquiry.Decision{State: advice.Accepted}, advice.Accepted, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.deliver(end.AddDate(0, 0, -15), end, server("n8a", "7d4b9c6f5", 0))
			w.settle()
			a := w.advice(inquiry.AdviceQuery{})
			r := of(t, &a, "emb/Deployment/bge", advice.KindMIG)
			if r.State != advice.Advised {
				t.Fatalf("%s, %v", r.State, r.Refusals)
			}
			c.say.ID = r.ID
			if _, err := w.service.Decide(t.Context(), c.say); err != nil {
				t.Fatal(err)
			}
			w.deliver(end, end.AddDate(0, 0, 1), c.change(w))
			w.now = w.now.AddDate(0, 0, 1)
			w.settle()
			all, err := w.service.Decisions(t.Context())
			if err != nil || len(all) != 1 {
				t.Fatalf("%v, %v", all, err)
			}
			if all[0].State != c.state || (len(all[0].Why) == 0) != (c.why == "") || !strings.Contains(strings.Join(all[0].Why, "; "), c.why) {
				t.Errorf("%s, %q; want %s, %q", all[0].State, all[0].Why, c.state, c.why)
			}
			again := w.advice(inquiry.AdviceQuery{})
			if r := of(t, &again, "emb/Deployment/bge", advice.KindMIG); c.state == advice.Expired && r.State != advice.Advised && r.State != advice.Refused {
				t.Errorf("what expired is shown as %s", r.State)
			}
		})
	}
}
