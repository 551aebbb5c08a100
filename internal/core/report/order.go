// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
)

// time is a key of the group's values of time.
func (g *group) time(r *runner) string { return g.values(r.time, nil) }

// who is a key of everything else.
func (g *group) who(r *runner) string {
	if g.whoKey == "" {
		g.whoKey = g.values(r.who, appendField(appendField(nil, string(g.class)), g.account))
	}
	return g.whoKey
}

func (g *group) values(which []int, b []byte) string {
	for _, i := range which {
		b = appendField(b, g.keys[i])
	}
	return string(b)
}

// ranked says whether the row is one of those that Spec.Top counts.
func (g *group) ranked() bool {
	return g.class == "" || g.class == ledger.Workload || g.class == ledger.Owner
}

// compareKeys orders groups by some of their values.
func (g *group) compareKeys(o *group, which []int) int {
	for _, i := range which {
		if c := strings.Compare(g.keys[i], o.keys[i]); c != 0 {
			return c
		}
	}
	return 0
}

// entity is whom rows are of, added up over all times.
type entity struct {
	of    *group
	total money.Sum
	gpuMS int64
	rank  *big.Int // the total, to compare by
}

// entities adds groups up over time, in the order of rows: workloads and owners
// first, those that cost most before the others, and then the accounts that are
// neither, in their fixed order.
func (r *runner) entities(groups []*group) []*entity {
	of := map[string]*entity{}
	for _, g := range groups {
		k := g.who(r)
		if of[k] == nil {
			of[k] = &entity{of: g}
		}
		of[k].total.AddSum(g.total)
		of[k].gpuMS += g.GPUMS
	}
	for _, e := range of {
		e.rank = e.total.Big()
	}
	return slices.SortedFunc(maps.Values(of), r.compareEntities)
}

func (r *runner) compareEntities(a, b *entity) int {
	c := cmp.Compare(classOrder(a.of.class), classOrder(b.of.class))
	switch {
	case c != 0:
	case a.of.ranked():
		c = cmp.Or(b.rank.Cmp(a.rank), cmp.Compare(b.gpuMS, a.gpuMS))
	default:
		c = cmp.Compare(r.platformOrder(a.of), r.platformOrder(b.of))
	}
	if c != 0 {
		return c
	}
	return cmp.Or(a.of.compareKeys(b.of, r.who), strings.Compare(string(a.of.class), string(b.of.class)), strings.Compare(a.of.account, b.of.account))
}

func classOrder(c ledger.Class) int {
	switch c {
	case ledger.Platform:
		return 1
	case ledger.Reconcile:
		return 2
	}
	return 0
}

// platformOrder is the place of the row's platform account among them.
func (r *runner) platformOrder(g *group) int {
	account := g.account
	if i := slices.Index(r.spec.By, Account); i >= 0 {
		account = g.keys[i]
	}
	return slices.Index(platforms, account)
}

// place is where a row stands: by time, then by whom it is of.
type place struct {
	time string
	who  int
}

// placed is the groups of one place, added up in the first.
type placed struct {
	who   int
	group *group
	n     int
}

// rows makes rows of the groups. Of each time, those beyond Spec.Top become one.
func (r *runner) rows(groups []*group) (out []Row) {
	who, beyond := r.places(groups)
	gathered := r.gather(groups, who)
	out = make([]Row, 0, len(gathered)) // a row is large: moving it costs as much as making it
	for _, p := range gathered {
		row := Row{Keys: p.group.keys, Class: p.group.class, Account: p.group.account, Columns: p.group.columns()}
		if p.who == beyond {
			row.Keys, row.Others = r.others(p.group), p.n
		}
		if row.Others > 0 || row.Class == ledger.Workload {
			row.Class, row.Account = "", ""
		}
		out = append(out, row)
	}
	return out
}

// places says where rows stand, by whom they are of, and which place is that of
// all beyond Spec.Top; -1 where none is.
func (r *runner) places(groups []*group) (who map[string]int, beyond int) {
	who, beyond = map[string]int{}, -1
	ranked := 0
	for i, e := range r.entities(groups) {
		at := i
		if e.of.ranked() {
			if ranked++; r.spec.Top > 0 && ranked > r.spec.Top {
				if beyond < 0 {
					beyond = i
				}
				at = beyond
			}
		}
		who[e.of.who(r)] = at
	}
	return who, beyond
}

// gather adds up the groups of each place, in order.
func (r *runner) gather(groups []*group, who map[string]int) []*placed {
	of := make(map[place]*placed, len(groups))
	for _, g := range groups {
		at := place{g.time(r), who[g.who(r)]}
		p := of[at]
		if p == nil {
			p = &placed{who: at.who, group: g}
			of[at] = p
		} else {
			p.group.plus(&g.sums)
		}
		p.n++
	}
	return slices.SortedFunc(maps.Values(of), func(a, b *placed) int {
		return cmp.Or(a.group.compareKeys(b.group, r.time), cmp.Compare(a.who, b.who))
	})
}

// others is the values of the row of all beyond Spec.Top.
func (r *runner) others(g *group) []string {
	keys := slices.Clone(g.keys)
	for _, i := range r.who {
		keys[i] = Others
	}
	return keys
}
