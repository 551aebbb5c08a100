// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/pricing"
)

// card is one device over the hour.
type card struct {
	uuid gpu.UUID
	slot string // its PCI address, empty where unknown
	days []device
}

// add adds what a batch has of the card.
func (c *card) add(d device) {
	c.days = append(c.days, d)
	for i := range d.whole {
		if slot := d.whole[i].rec.Slot; slot != "" {
			c.slot = max(c.slot, slot)
		}
	}
}

// seat is one paid slot in a piece, with the cards that were in it.
type seat struct {
	name  string
	cost  *money.Nano // nil: nobody pays for it, or no price is known
	paid  bool
	cards []card
	// known is a card of the slot: the first of the piece, or one that was
	// there in another piece of the hour.
	known gpu.UUID
}

// seatsOf puts the cards into the paid slots of a piece: by their PCI address,
// and the others into the slots that are left, each into the first that is free
// for as long as the card was there. A card that came after another took its
// slot: two UUIDs after one another are one paid GPU. What finds no slot has
// its usage kept, and no money.
func seatsOf(cost *pricing.NodeCost, cards []card) []seat {
	from, until := cost.StartMS, cost.StartMS+cost.DurationMS
	var seats []seat
	for i := range cost.Slots {
		s := seat{name: cost.Slots[i].Slot, paid: true}
		if cost.Priced {
			s.cost = &cost.Slots[i].Cost
		}
		seats = append(seats, s)
	}
	var others []visit
	for _, c := range cards {
		v := visit{card: c}
		v.first, v.last = c.seen(from, until)
		i := slices.IndexFunc(seats, func(s seat) bool { return c.slot != "" && s.name == c.slot })
		switch there := v.first < v.last; {
		case i >= 0 && there:
			seats[i].cards = append(seats[i].cards, c)
		case i >= 0:
			seats[i].known = c.uuid
		case there:
			others = append(others, v)
		}
	}
	seats = fill(seats, others)
	for i := range seats {
		seats[i].begin(from, until)
	}
	return seats
}

// begin finds the card that was there first.
func (s *seat) begin(from, until int64) {
	at := until
	for _, c := range s.cards {
		if first, _ := c.seen(from, until); first < at {
			at, s.known = first, c.uuid
		}
	}
}

// visit is a card without a known slot, and from when to when it was seen.
type visit struct {
	card        card
	first, last int64
}

// fill puts cards into the slots that have none.
func fill(seats []seat, others []visit) []seat {
	slices.SortFunc(others, func(a, b visit) int {
		return cmp.Or(cmp.Compare(a.first, b.first), strings.Compare(a.card.slot, b.card.slot), cmp.Compare(a.card.uuid, b.card.uuid))
	})
	free := map[int]int64{}
	for i := range seats {
		if len(seats[i].cards) == 0 {
			free[i] = 0
		}
	}
	paid := len(seats)
	for _, v := range others {
		i := 0
		for ; i < paid; i++ {
			if last, open := free[i]; open && last <= v.first {
				break
			}
		}
		if i == paid {
			seats = append(seats, seat{cards: []card{v.card}})
			continue
		}
		free[i] = v.last
		seats[i].cards = append(seats[i].cards, v.card)
	}
	return seats
}

// seen is from when to when records tell of the card, within a piece.
func (c card) seen(from, until int64) (first, last int64) {
	first, last = until, from
	for i := range c.days {
		for k := range c.days[i].whole {
			p := &c.days[i].whole[k]
			first, last = min(first, max(from, p.rec.StartMS)), max(last, min(until, p.end()))
		}
	}
	return first, last
}
