// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"fmt"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/app/advising"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// BenchmarkDividedAgain is the advice for a few nodes of 8 cards in minutes, each with one
// workload that a slice is proposed for, where its price tells the charge ("plain") and where
// 24 of its hours are divided again.
func BenchmarkDividedAgain(b *testing.B) {
	for name, policy := range map[string]allocation.Policy{
		"plain": {}, "memory": {Basis: allocation.Memory},
		"cluster": {Scope: allocation.ScopeGiven, Distribute: []allocation.Distribution{{Account: allocation.Idle, How: allocation.Proportional}}},
	} {
		b.Run(name, func(b *testing.B) {
			w := worldUnder(b, policy)
			var nodes []*node
			for i := range 4 {
				nodes = append(nodes, eight(fmt.Sprint("n", i), 1))
			}
			for _, part := range []struct {
				from, to time.Time
				window   time.Duration
			}{{end.AddDate(0, 0, -16), end.AddDate(0, 0, -8), time.Hour}, {end.AddDate(0, 0, -8), end, time.Minute}} {
				for _, n := range nodes {
					n.window = part.window
				}
				w.deliver(part.from, part.to, nodes...)
			}
			w.settle()
			for b.Loop() {
				fresh := advising.NewService(w.store, advising.ServiceConfig{Now: func() time.Time { return w.now }, Rules: w.rules})
				if _, err := fresh.Advice(b.Context(), inquiry.AdviceQuery{Namespace: "emb"}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
