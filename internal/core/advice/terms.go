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
		why = append(why, fmt.Sprintf("it was seen first %d days into the time before: a whole week of it is needed", late/dayMS))
	}
	policies := slices.Concat(before.Policies, after.Policies)
	slices.Sort(policies)
	if policies = slices.Compact(policies); len(policies) > 1 {
		why = append(why, fmt.Sprintf("the policy changed: hours were divided under %s", strings.Join(policies, " and ")))
	}
	for _, b := range before.Prices {
		for _, a := range after.Prices {
			if a.Machine == b.Machine && a.moved(&b) {
				why = append(why, fmt.Sprintf("the price of %s changed: %s, and %s before", a.Machine, a.Text(), b.Text()))
			}
		}
	}
	return why
}

// Text is the price in words.
func (p *MachinePrice) Text() string {
	return fmt.Sprintf("%s %s an hour, split by %s", p.Hour, p.Currency, orNone(p.Split))
}

// moved: it is another price, or is split in another way.
func (p *MachinePrice) moved(o *MachinePrice) bool {
	apart := p.Hour.Float() - o.Hour.Float()
	return p.Currency != o.Currency || p.Split != o.Split || max(apart, -apart) > PriceMoved*max(p.Hour.Float(), o.Hour.Float())
}

// undone says what a workload has where it does not have what was proposed; "" where it does,
// or where nobody can tell.
func undone(r *Recommendation, had *Had) string {
	p := r.Proposed
	if p == nil || had.Model == "" {
		return ""
	}
	switch r.Kind {
	case KindMIG:
		if plain, _, _ := strings.Cut(had.Profile, "+"); plain != p.Profile {
			return fmt.Sprintf("it has %s, not %s", orWhole(had), p.Profile)
		}
	case KindFewer:
		if had.PerPod >= r.Current.Count {
			return fmt.Sprintf("a pod has %d partitions, as before", had.PerPod)
		}
	case KindPool:
		if had.Fraction != "" && had.Fraction != p.Fraction && had.Fraction == r.Current.Fraction {
			return "its memory fraction is " + had.Fraction + ", as before"
		}
	}
	return ""
}

func orWhole(had *Had) string {
	if had.Profile == "" {
		return "a whole " + had.Model
	}
	return had.Profile
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}
