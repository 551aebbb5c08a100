// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"math/big"
	"slices"

	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/workload"
)

// Distribute passes platform accounts on as the policy says: entries of kind
// shared are added, on the workloads' or the named owners' accounts, and what
// they take over is moved off the platform's entry, which keeps the rest in
// Amount and what left in Moved. So the sum stays, no entry is below 0, and an
// account can be shown before (Amount + Moved) and after (Amount). Entries of
// workloads are not altered. Nothing is passed on twice: shares are taken of
// the platform's own entries, by the workloads' own charges.
//
// The workloads are those of all entries given, of the same hour, resource and
// currency. Where there are none, or no price, an account stays as it is.
func Distribute(entries []Entry, p Policy) ([]Entry, error) {
	if err := p.Check(); err != nil {
		return nil, err
	}
	out := slices.Clone(entries)
	if len(p.Distribute) == 0 {
		return out, nil
	}
	pools := poolsOf(entries)
	for _, d := range p.Distribute {
		for i := range entries {
			e := &out[i]
			if e.Kind != Platform || e.Account != d.Account || e.Amount == nil || *e.Amount == 0 {
				continue
			}
			shared, err := e.passOn(d, pools[poolOf(e)])
			if err != nil {
				return nil, fmt.Errorf("distribute %s of node %s: %w", d.Account, e.Node, err)
			}
			out = append(out, shared...)
		}
	}
	slices.SortStableFunc(out, func(a, b Entry) int { return a.compare(&b) })
	return out, nil
}

// pool is whose workloads share a cost.
type pool struct {
	hour     int64
	resource Resource
	currency money.Currency
}

func poolOf(e *Entry) pool { return pool{e.HourMS, e.Resource, e.Currency} }

// receiver is a workload or an owner that takes over a part.
type receiver struct {
	account string
	holder  workload.Holder
	charge  money.Sum // its own charges
	share   int64     // its own share of time
	weight  *big.Rat
}

// poolsOf adds up the workloads' own charges, in order of their keys.
func poolsOf(entries []Entry) map[pool][]receiver {
	type key struct {
		pool
		cluster, who string
	}
	at, out := map[key]int{}, map[pool][]receiver{}
	for i := range entries {
		e := &entries[i]
		if e.Kind != Direct && e.Kind != Leak || e.Amount == nil {
			continue
		}
		p := poolOf(e)
		k := key{p, e.Cluster, e.who()}
		n, known := at[k]
		if !known {
			n = len(out[p])
			at[k] = n
			out[p] = append(out[p], receiver{account: e.Account, holder: e.Holder})
		}
		r := &out[p][n]
		if r.holder.Compare(e.Holder) < 0 {
			r.account, r.holder = e.Account, e.Holder
		}
		r.charge.Add(*e.Amount)
		r.share += e.ShareMS
	}
	for _, list := range out {
		slices.SortStableFunc(list, func(a, b receiver) int { return a.holder.Compare(b.holder) })
	}
	return out
}

// passOn takes a distribution's part off a platform's entry and returns the
// entries that take it over.
func (e *Entry) passOn(d Distribution, pool []receiver) ([]Entry, error) {
	to := d.receivers(pool)
	if len(to) == 0 {
		return nil, nil
	}
	weights := make([]*big.Rat, len(to))
	for i := range to {
		weights[i] = to[i].weight
	}
	parts, err := money.Apportion(*e.Amount, weights)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for i, r := range to {
		if parts[i] != 0 {
			out = append(out, e.takenOver(r, &parts[i]))
		}
	}
	e.Amount, e.Moved = new(money.Nano(0)), e.Amount
	return out, nil
}

// takenOver is the entry of who takes a part of e over.
func (e *Entry) takenOver(by receiver, amount *money.Nano) Entry {
	s := *e
	s.Quantities = Quantities{Grade: e.Grade}
	s.Kind, s.Account, s.Holder = Shared, by.account, by.holder
	s.Amount, s.Moved, s.From = amount, nil, e.Account
	if e.Holder.Kind == workload.KindHost {
		s.Note = e.Holder.Unit
	}
	s.identify()
	return s
}

// receivers are who takes over, with their weights; none where nobody can.
func (d Distribution) receivers(pool []receiver) (to []receiver) {
	for _, s := range d.Shares {
		to = append(to, receiver{account: s.To, weight: new(big.Rat).SetInt(new(big.Int).SetUint64(s.Weight))})
	}
	for _, r := range pool {
		switch {
		case d.How == Even && r.share > 0:
			r.weight = big.NewRat(1, 1)
		case d.How == Proportional && r.charge.Big().Sign() > 0:
			r.weight = new(big.Rat).SetInt(r.charge.Big())
		default:
			continue
		}
		to = append(to, r)
	}
	return to
}
