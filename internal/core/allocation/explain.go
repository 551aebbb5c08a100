// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"math/big"

	"github.com/gputally/gputally/internal/core/money"
)

// Line says how the amount of one entry came about. All times are the entry's
// share of the slot (of the node's CPU or memory) times time, in milliseconds,
// exact.
type Line struct {
	Entry Entry `json:"entry"`
	// Held is what was in use (u), Reserved what grants kept from everyone else
	// (r), Unused what of that was not in use: as they were asked for.
	Held     *big.Rat `json:"held"`
	Reserved *big.Rat `json:"reserved"`
	Unused   *big.Rat `json:"unused"`
	// ForHeld, ForUnused and ForOther are what of the whole was given for what
	// was held, for what was kept unused, and for neither (a grant while nobody
	// measured; a platform account); they sum to Weight. Less is given than was
	// asked for where others came first, or where all that was left was divided
	// in proportion.
	ForHeld   *big.Rat `json:"for_held"`
	ForUnused *big.Rat `json:"for_unused"`
	ForOther  *big.Rat `json:"for_other"`
	Weight    *big.Rat `json:"weight"`
	// Of is the whole: the time of the slot in the piece. Cost is what it cost,
	// nil without a price; the amount is Cost × Weight / Of, to the last
	// billionth one way or the other.
	Of    int64       `json:"of"`
	Cost  *money.Nano `json:"cost"`
	Exact *big.Rat    `json:"exact,omitempty"` // Cost × Weight / Of, in billionths
}

// Explain allocates an hour as Allocate does and says of each entry, before any
// distribution, how it came about.
func Explain(h Hour, p Policy) ([]Line, error) {
	r, err := rate(h, p, true)
	if err != nil {
		return nil, err
	}
	return r.lines, nil
}

// explain explains one line of a pot.
func (p *settled) explain(line int, e Entry) Line {
	w, s, cost, ms := &p.lines[line], p.scale, p.cost, p.ms
	of := func(n *big.Int) *big.Rat { return new(big.Rat).SetFrac(n, s.all) }
	var asked [askedKept + 1]big.Int
	for _, t := range w.terms {
		n := t.n.big()
		asked[t.part].Add(&asked[t.part], n.Mul(n, s.dens[t.den]))
	}
	l := Line{
		Entry: e, Held: of(&asked[askedHeld]), Reserved: of(&asked[askedReserve]), Unused: of(&asked[askedKept]),
		ForHeld: of(&w.parts[held]), ForUnused: of(&w.parts[kept]), ForOther: of(&w.parts[other]),
		Weight: of(&w.weight), Of: ms, Cost: cost,
	}
	// The exact rests of divisions in proportion are of the part that divided.
	rest := new(big.Rat).Sub(l.Weight, new(big.Rat).Add(l.ForHeld, new(big.Rat).Add(l.ForUnused, l.ForOther)))
	if w.parts[kept].Sign() > 0 || w.parts[other].Sign() == 0 {
		l.ForUnused.Add(l.ForUnused, rest)
	} else {
		l.ForOther.Add(l.ForOther, rest)
	}
	if cost != nil && ms > 0 {
		l.Exact = new(big.Rat).Mul(l.Weight, big.NewRat(int64(*cost), ms))
	}
	return l
}
