// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

func sortFailures(fs []Failure) {
	slices.SortFunc(fs, func(a, b Failure) int { return cmp.Or(a.Compare(b.NodeHour), strings.Compare(a.Error, b.Error)) })
}

// ever is all time that hours can have.
var ever = time.UnixMilli(1 << 45).UTC()

// looked is the key of the revision by which all rated hours were last looked at.
const looked = "prices looked at"

// reprice looks at all rated hours when the rules have changed, and asks for
// those to be rated again that cost something else now. That is much cheaper than
// rating: what was priced is kept with each hour.
func (r *Rater) reprice(ctx context.Context) error {
	rev, err := r.rules.Revision(ctx)
	if err != nil {
		return fmt.Errorf("prices: %w", err)
	}
	if r.revision == "" {
		text, err := r.store.Text(ctx, looked)
		if err != nil {
			return fmt.Errorf("prices: %w", err)
		}
		r.revision = string(text)
	}
	if rev == r.revision {
		return nil
	}
	changed, err := r.repriced(ctx, time.UnixMilli(0).UTC(), ever)
	if err == nil {
		err = r.store.Ask(ctx, changed)
	}
	if err == nil {
		err = r.store.KeepText(ctx, looked, []byte(rev))
	}
	if err != nil {
		return fmt.Errorf("look at prices again: %w", err)
	}
	if len(changed) > 0 {
		r.cfg.Log.Info("prices changed", "revision", rev, "hours_to_rate_again", len(changed))
	}
	r.revision = rev
	return nil
}

// keep keeps the text of a policy before anything is booked by it.
func (r *Rater) keep(ctx context.Context, p allocation.Policy) error {
	if p.Name() == r.policy {
		return nil
	}
	text, err := json.Marshal(p)
	if err == nil {
		err = r.store.KeepText(ctx, policyKey(p.Name()), text)
	}
	if err != nil {
		return fmt.Errorf("keep policy %s: %w", p.Name(), err)
	}
	r.policy = p.Name()
	return nil
}

// repriced is the rated hours in [from, to) whose costs, or whose policy, are no
// longer those of the rules.
func (r *Rater) repriced(ctx context.Context, from, to time.Time) (out []ledger.NodeHour, err error) {
	var rules Rules
	at := int64(-1)
	for h, err := range r.store.Rated(ctx, from, to, "") {
		if err != nil {
			return nil, err
		}
		if h.HourMS != at {
			at = h.HourMS
			if rules, err = r.rules.Rules(ctx, time.UnixMilli(at).UTC()); err != nil {
				return nil, err
			}
		}
		if costs, err := rating.CostsOf(rules.Prices, h.Nodes); err != nil || !sameCosts(costs, h.Costs) || h.Revision.Policy != rules.Policy.Name() {
			out = append(out, h.NodeHour) // an error is told when the hour is rated
		}
	}
	return out, nil
}

// sameCosts says that two prices of an hour come to the same lines. Where a price
// comes from may differ; the rule that split it is said on the lines.
func sameCosts(a, b []pricing.NodeCost) bool {
	return slices.EqualFunc(a, b, func(a, b pricing.NodeCost) bool {
		if a.Basis.Grade != b.Basis.Grade || a.Basis.Split != b.Basis.Split {
			return false
		}
		a.Basis, b.Basis, a.Reason, b.Reason = pricing.Basis{}, pricing.Basis{}, "", ""
		if len(a.Slots) == 0 && len(b.Slots) == 0 {
			a.Slots, b.Slots = nil, nil
		}
		return reflect.DeepEqual(a, b)
	})
}
