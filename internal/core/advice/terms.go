// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"slices"
	"strings"
)

// lateMS is how long after the beginning of the time before a workload may be seen first: a
// weekend.
const lateMS = 2 * dayMS

// otherTerms are why the money of two times does not compare: too little was seen before, or
// prices or the policy are not the same.
func otherTerms(before, after *Period) (why []string) {
	if late := before.FirstMS - before.FromMS; before.SeenMS > 0 && late > lateMS {
		why = append(why, Say("seen_late", late/dayMS))
	}
	policies := slices.Concat(before.Policies, after.Policies)
	slices.Sort(policies)
	if policies = slices.Compact(policies); len(policies) > 1 {
		why = append(why, Say("policy_changed", strings.Join(policies, ", ")))
	}
	for _, b := range before.Prices {
		for _, a := range after.Prices {
			if a.Machine == b.Machine && a.moved(&b) {
				why = append(why, Say("price_changed", a.Machine, a.amount(), orNone(a.Split), b.amount(), orNone(b.Split)))
			}
		}
	}
	return why
}

// Text is the price in words.
func (p *MachinePrice) Text() string {
	return fmt.Sprintf("%s an hour, split by %s", p.amount(), orNone(p.Split))
}

func (p *MachinePrice) amount() string { return p.Hour.String() + " " + p.Currency }

// moved: it is another price, or is split in another way.
func (p *MachinePrice) moved(o *MachinePrice) bool {
	apart := p.Hour.Float() - o.Hour.Float()
	return p.Currency != o.Currency || p.Split != o.Split || max(apart, -apart) > PriceMoved*max(p.Hour.Float(), o.Hour.Float())
}

// undone says that a workload has something else where it does not have what was proposed; "" where it does,
// or where nobody can tell.
func undone(r *Recommendation, had *Had) string {
	p := r.Proposed
	if p == nil || had.Model == "" {
		return ""
	}
	switch r.Kind {
	case KindMIG:
		if plain, _, _ := strings.Cut(had.Profile, "+"); plain != p.Profile {
			if had.Profile == "" {
				return Say("unchanged_whole", had.Model, p.Profile)
			}
			return Say("unchanged_profile", had.Profile, p.Profile)
		}
	case KindFewer:
		if had.PerPod >= r.Current.Count {
			return Say("unchanged_count", had.PerPod)
		}
	case KindPool:
		if had.Fraction != "" && had.Fraction != p.Fraction && had.Fraction == r.Current.Fraction {
			return Say("unchanged_fraction", had.Fraction)
		}
	}
	return ""
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
