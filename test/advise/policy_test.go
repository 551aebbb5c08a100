// SPDX-License-Identifier: Apache-2.0

package advise

import (
	"testing"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// TestPolicy: by how much a charge falls is told only where the policy bears it out.
// What it frees does not depend on that.
func TestPolicy(t *testing.T) {
	for _, c := range []struct {
		name   string
		policy allocation.Policy
		known  bool
	}{
		{"what is held", allocation.Policy{Basis: allocation.Held}, true},
		{"what is reserved", allocation.Policy{Basis: allocation.Reserved}, true},
		{"memory alone", allocation.Policy{Basis: allocation.Memory}, false},
		{"idle GPUs on the tenants", allocation.Policy{Distribute: []allocation.Distribution{{Account: "idle", How: allocation.Proportional}}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := worldUnder(t, c.policy)
			n := eight("a", 1)
			n.gpus = 8
			w.deliver(end.AddDate(0, 0, -16), end, n)
			w.settle()
			a := w.advice(inquiry.AdviceQuery{Namespace: "emb"})
			r := of(t, &a, "emb/Deployment/bge-a0", advice.KindMIG)
			if r.Money == nil || (r.Money.ChargeDelta != nil) != c.known || r.Money.FreedIdle+r.Money.FreedStranded != 1916_250_000_000 {
				t.Errorf("%+v, %v", r.Money, r.Refusals)
			}
			if c.known && r.Money.ChargeDelta.String() != "1916.25" {
				t.Errorf("charge %v", r.Money.ChargeDelta)
			}
		})
	}
}
