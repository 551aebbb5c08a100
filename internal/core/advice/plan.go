// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/money"
)

// Node is one that a plan gives back or adds.
type Node struct {
	Name string
	Hour money.Nano
	// CommittedUntilMS is when a reservation ends, 0 for none.
	CommittedUntilMS int64
	// Unpriced: what it costs is not known, and Hour says nothing.
	Unpriced bool
}

// Plan is several changes whose money only exists together. Its members have no
// cash of their own.
type Plan struct {
	ID       string     `json:"id"`
	Members  []string   `json:"members"`
	Returns  []string   `json:"returns"`
	Adds     []string   `json:"adds,omitempty"`
	Currency string     `json:"currency"`
	Cash     money.Nano `json:"cash"`
	Class    MoneyClass `json:"class"`
	Refusals []Refusal  `json:"refusals,omitempty"`
}

// MakePlan joins members to a plan. That all on the returned nodes fits
// elsewhere is for the caller to have shown. It returns the members as they are
// within the plan. A node that is committed beyond now saves nothing yet, and what
// one without a price saves is not known.
func MakePlan(members []Recommendation, returns, adds []Node, currency string, nowMS int64) (Plan, []Recommendation, error) {
	p := Plan{Currency: currency, Class: Cash}
	members = slices.Clone(members)
	for _, r := range members {
		if r.State != Advised {
			return p, nil, fmt.Errorf("plan with %s of %s/%s: it is %s, not advised", r.Kind, r.Target.Namespace, r.Target.Owner, r.State)
		}
		p.Members = append(p.Members, r.ID)
	}
	slices.Sort(p.Members)
	var cash money.Sum
	unknown := false
	for _, n := range returns {
		p.Returns = append(p.Returns, n.Name)
		if n.CommittedUntilMS > nowMS {
			until := time.UnixMilli(n.CommittedUntilMS).UTC().Format(time.DateOnly)
			p.Refusals = append(p.Refusals, lack(Committed, Say("paid_until", n.Name, until), Say("use_else")))
			continue
		}
		if n.Unpriced {
			unknown = true
			p.Refusals = append(p.Refusals, lack(NoPrice, Say("price_of", n.Name), Say("add_row")))
			continue
		}
		if err := addMonth(&cash, n.Hour); err != nil {
			return p, nil, err
		}
	}
	for _, n := range adds {
		p.Adds = append(p.Adds, n.Name)
		if err := addMonth(&cash, -n.Hour); err != nil {
			return p, nil, err
		}
	}
	var err error
	if p.Cash, err = cash.Nano(); err != nil {
		return p, nil, err
	}
	if p.Cash == 0 && !unknown {
		p.Class = Capacity
	}
	p.ID = hash("plan", p.Members, p.Returns, p.Adds)
	for i := range members {
		members[i].join(p.ID)
	}
	return p, members, nil
}

func addMonth(sum *money.Sum, hourly money.Nano) error {
	n, err := month(hourly)
	sum.Add(n)
	return err
}

// join makes a recommendation part of a plan: the plan has its cash.
func (r *Recommendation) join(plan string) {
	r.PlanID = plan
	if r.Money != nil {
		m := *r.Money
		m.CashLow, m.CashMean = 0, 0
		r.Money = &m
	}
}

// TotalCash is that of plans which have no node in common; others cannot both
// be carried out.
func TotalCash(plans []Plan) (money.Nano, error) {
	var sum money.Sum
	seen := map[string]string{}
	for _, p := range plans {
		for _, node := range slices.Concat(p.Returns, p.Adds) {
			if other, ok := seen[node]; ok {
				return 0, fmt.Errorf("add up plans %s and %s: both are about node %s", other, p.ID, node)
			}
			seen[node] = p.ID
		}
		sum.Add(p.Cash)
	}
	return sum.Nano()
}
