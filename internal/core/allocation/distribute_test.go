// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// sharedCard is a card at 1.00 of which a uses 0.30, b 0.10, and the host 0.20.
func sharedCard() Hour {
	card := card0(holds("a", 12000), holds("b", 4000), holding{who: hostUnit("x.service"), bytes: 6000}, holding{who: hostUnit("y.service"), bytes: 2000})
	return Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card.granted(turn("a", 1), turn("b", 1)).offered(4))}
}

func TestDistribute(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		rules []Distribution
		want  bill
	}{
		{"apart", nil, bill{"t/a": "0.30", "t/b": "0.10", "host": "0.20", "idle": "0.40"}},
		{
			"in proportion", []Distribution{{Account: Idle, How: Proportional}},
			bill{"t/a": "0.30", "t/b": "0.10", "host": "0.20", "t/a (shared)": "0.30", "t/b (shared)": "0.10"},
		},
		{
			"evenly", []Distribution{{Account: Idle, How: Even}},
			bill{"t/a": "0.30", "t/b": "0.10", "host": "0.20", "t/a (shared)": "0.20", "t/b (shared)": "0.20"},
		},
		{
			"by fixed shares", []Distribution{{Account: Idle, How: Fixed, Shares: []Share{{"research", 3}, {"web", 1}}}},
			bill{"t/a": "0.30", "t/b": "0.10", "host": "0.20", "research (shared)": "0.30", "web (shared)": "0.10"},
		},
		{
			"to an owner, and two accounts at once", []Distribution{{Account: Idle, How: Owner, Shares: []Share{{"platform", 1}}}, {Account: Host, How: Even}},
			bill{
				"t/a": "0.30", "t/b": "0.10", "platform (shared)": "0.40", "t/a (shared) x.service": "0.075", "t/b (shared) x.service": "0.075",
				"t/a (shared) y.service": "0.025", "t/b (shared) y.service": "0.025",
			},
		},
	} {
		if diff := cmp.Diff(tc.want, charged(t, sharedCard(), Policy{Distribute: tc.rules})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tc.name, diff)
		}
	}
}

// TestDistributionShowsBeforeAndAfter: the account keeps its line and its time.
func TestDistributionShowsBeforeAndAfter(t *testing.T) {
	t.Parallel()
	res, err := Allocate(sharedCard(), Policy{Distribute: []Distribution{{Account: Idle, How: Even}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range res.Entries {
		switch {
		case e.Account == Idle && (*e.Amount != 0 || *e.Moved != money.Unit*4/10 || e.ShareMS != hourMS*4/10):
			t.Errorf("idle: %s", asJSON(e))
		case e.Kind == Shared && (e.From != Idle || e.ShareMS != 0 || e.Partition.Device != "GPU-0"):
			t.Errorf("shared: %s", asJSON(e))
		}
	}
}

// TestNobodyToTakeItOver: an account stays where it is.
func TestNobodyToTakeItOver(t *testing.T) {
	t.Parallel()
	h := Hour{Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0())}
	for _, how := range []How{Even, Proportional} {
		if diff := cmp.Diff(bill{"idle": "1.00"}, charged(t, h, Policy{Distribute: []Distribution{{Account: Idle, How: how}}})); diff != "" {
			t.Errorf("%s: %s", how, diff)
		}
	}
}

// TestDistributeOverACluster: a node that nobody uses is passed on to the
// workloads of the others, where the policy leaves the scope to the caller.
func TestDistributeOverACluster(t *testing.T) {
	t.Parallel()
	p := Policy{Scope: ScopeGiven, Distribute: []Distribution{{Account: Idle, How: Proportional}}}
	var all []Entry
	for _, h := range []Hour{sharedCard(), {Costs: []pricing.NodeCost{costOf(money.Unit, 1)}, Batches: wholeHour(card0())}} {
		node := "n" + asJSON(len(all))
		h.Costs[0].Node = node
		for i := range h.Batches {
			h.Batches[i].Node = node
		}
		res, err := Allocate(h, p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, res.Entries...)
	}
	out, err := Distribute(all, p)
	if err != nil {
		t.Fatal(err)
	}
	sums, total := bill{}, money.Sum{}
	for account, n := range sumBy(out) {
		sums[account] = n.String()
		total.Add(n)
	}
	want := bill{"t/a": "1.35", "t/b": "0.45", "host": "0.20", "idle": "0.00"}
	if diff := cmp.Diff(want, sums); diff != "" || total.String() != "2.00" {
		t.Errorf("total %s (-want +got):\n%s", total, diff)
	}
}

func sumBy(entries []Entry) map[string]money.Nano {
	out := map[string]money.Nano{}
	for _, e := range entries {
		out[e.Account] += *e.Amount
	}
	return out
}

func TestPoliciesThatCannotBe(t *testing.T) {
	t.Parallel()
	to := func(d Distribution) Policy { return Policy{ID: "p", Distribute: []Distribution{d}} }
	for want, p := range map[string]Policy{
		`policy "p": basis is "use"; write held, memory or reserved`: {ID: "p", Basis: "use"},
		`scope is "world"`: {ID: "p", Scope: "world"},
		`distribute "profit": no such platform account; write one of idle, `: to(Distribution{Account: "profit", How: Even}),
		`how is ""; write proportional, even, fixed or owner`:                to(Distribution{Account: Idle}),
		`proportional takes no shares`:                                       to(Distribution{Account: Idle, How: Proportional, Shares: []Share{{"x", 1}}}),
		`fixed without shares`:                                               to(Distribution{Account: Idle, How: Fixed}),
		`owner with 0 shares`:                                                to(Distribution{Account: Idle, How: Owner}),
		`share "x" has weight 0`:                                             to(Distribution{Account: Idle, How: Fixed, Shares: []Share{{"x", 0}}}),
		`share to "x" is there twice`:                                        to(Distribution{Account: Idle, How: Fixed, Shares: []Share{{"x", 1}, {"x", 1}}}),
		`share to "host", which is a platform account itself`:                to(Distribution{Account: Idle, How: Owner, Shares: []Share{{"host", 1}}}),
		`names "idle" twice`:                                                 {ID: "p", Distribute: []Distribution{{Account: Idle, How: Even}, {Account: Idle, How: Proportional}}},
	} {
		_, err := Allocate(oneCard(), p)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want an error with %q", p, err, want)
		}
		if _, err := Distribute(nil, p); err == nil {
			t.Errorf("%v: distributes", p)
		}
	}
	name := Policy{TurnsReserve: true, Scope: ScopeGiven, Distribute: []Distribution{{Account: Idle, How: Fixed, Shares: []Share{{"x", 2}, {"y", 1}}}, {Account: Host, How: Even}}}.Name()
	if want := "held, turns, host even, idle fixed x:2 y:1, scope given"; name != want {
		t.Errorf("the policy is called %q, want %q", name, want)
	}
}
