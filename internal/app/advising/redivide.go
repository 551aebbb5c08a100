// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/advisor"
	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/counterfactual"
	"github.com/gputally/gputally/internal/core/money"
)

// trial is a proposal whose charge only dividing recorded hours again can tell, and what
// came of it so far.
type trial struct {
	*advisor.Trial
	rec *advice.Recommendation
	// fell is by how much the charge fell in the hours divided, ms for how long partitions
	// were altered there. left are hours in which there was nothing to alter, gone those
	// whose records are no more, dark those without a price.
	fell                            money.Sum
	ms                              int64
	hours, left, gone, dark, broken int
	// key names what is tried, whatever the hour.
	key string
}

// found is what one hour of a trial came to.
type found struct {
	as   outcome
	fell money.Sum
	ms   int64
}

// outcome says whether an hour could be divided again.
type outcome int

const (
	divided outcome = iota
	nothingThere
	noRecords
	noPrice
	failed
)

// count adds an hour.
func (t *trial) count(f found) {
	switch f.as {
	case divided:
		t.hours++
		t.ms += f.ms
		t.fell.AddSum(f.fell)
	case nothingThere:
		t.left++
	case noRecords:
		t.gone++
	case noPrice:
		t.dark++
	default:
		t.broken++
	}
}

// trials are those of a workload's recommendations whose charge its price does not tell.
func (f *knownFleet) trials(c *advisor.Case, list []advice.Recommendation) (out []*trial) {
	for i := range list {
		r := &list[i]
		if r.State != advice.Advised || r.Money == nil || c.Plain(r, f.policy()) {
			continue
		}
		out = append(out, tried(r, c.Trial(r, &f.Fleet)))
	}
	return slices.DeleteFunc(out, func(t *trial) bool { return t == nil })
}

// shareTrial is that of workloads that would share a card; nil where prices tell.
func (f *knownFleet) shareTrial(group []*advisor.Case, r *advice.Recommendation) []*trial {
	if r.State != advice.Advised || r.Money == nil || advisor.PlainShare(group, f.policy()) {
		return nil
	}
	return []*trial{tried(r, advisor.ShareTrial(group))}
}

// tried is a trial; nil, and the charge not known, where nothing can be tried.
func tried(r *advice.Recommendation, t *advisor.Trial) *trial {
	if t == nil {
		r.Money = charged(r.Money, nil, advice.Say("charge_untold"))
		return nil
	}
	what, err := json.Marshal([]any{r.ID, r.Proposed, r.Money})
	if err != nil {
		panic(err) // text and numbers
	}
	return &trial{Trial: t, rec: r, key: string(what)}
}

// charged is money with another charge.
func charged(m *advice.Money, fell *money.Nano, note string) *advice.Money {
	out := *m
	out.ChargeDelta, out.ChargeNote = fell, note
	return &out
}

// divideAgain divides the hours of trials as they were and as they would have been, under
// the policy in force. clean is false where some could not be read: they may be the next time.
func (s *Service) divideAgain(ctx context.Context, trials []*trial, p allocation.Policy) (clean bool, err error) {
	clean = true
	byHour := map[int64][]*trial{}
	var hours []int64
	for _, t := range trials {
		for _, h := range t.Hours {
			if byHour[h] == nil {
				hours = append(hours, h)
			}
			byHour[h] = append(byHour[h], t)
		}
	}
	slices.Sort(hours)
	for _, h := range hours {
		d := division{service: s, hour: h, trials: byHour[h], policy: p, nodes: map[nodeName]counterfactual.Node{}, base: map[nodeName][]allocation.Entry{}, waiting: map[nodeName]int{}, before: map[string][]allocation.Entry{}}
		err := d.run(ctx)
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err != nil { // one hour that cannot be divided is no reason to advise nobody
			clean = false
			s.log.Error("an hour could not be divided again; others go on", "hour", time.UnixMilli(h).UTC().Format(time.RFC3339), "error", err)
			for _, t := range d.trials {
				d.done(t, found{as: failed})
			}
		}
	}
	for _, t := range trials {
		t.settle(p.Name())
	}
	return clean, nil
}

// settle scales what was found to a month.
func (t *trial) settle(policy string) {
	if t.hours == 0 {
		t.rec.Money = charged(t.rec.Money, nil, t.why(policy))
		return
	}
	fell, err := t.Month(t.fell, t.ms)
	if err != nil {
		t.rec.Money = charged(t.rec.Money, nil, advice.Say("charge_too_large", err))
		return
	}
	day := func(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.DateOnly) }
	from, to := day(t.Hours[0]), day(t.Hours[len(t.Hours)-1])
	note := advice.Say("divided", t.hours, from, to, policy)
	if out := t.left + t.gone + t.dark + t.broken; out > 0 {
		note = advice.Say("divided_some", t.hours, from, to, policy, out)
	}
	t.rec.Money = charged(t.rec.Money, &fell, note)
}

// why says why no hour could be divided again.
func (t *trial) why(policy string) string {
	switch {
	case t.gone > 0:
		return advice.Say("charge_gone", t.gone, policy)
	case t.broken > 0:
		return advice.Say("charge_broken")
	case t.dark > 0:
		return advice.Say("charge_unpriced")
	}
	return advice.Say("charge_others", t.left)
}
