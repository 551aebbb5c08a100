// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// Minute is a piece of a workload's time, as far as it tells whether anybody
// would miss it.
type Minute struct {
	StartMS, DurationMS int64
	// Active is engine activity or busy, nil if not read; Requests came in, nil
	// if not told; CPU is what was used of the request, nil if not known.
	Active   *float64
	Requests *int64
	CPU      *float64
	// Terminal: somebody has one open; nil if not known.
	Terminal *bool
}

// idle needs every sign there is. Low CPU alone is none, and neither is a GPU
// that waits: a download keeps the CPU at work, a server waits for requests.
func (m Minute) idle(work Work) bool {
	switch {
	case m.Active == nil || *m.Active > 0, m.CPU == nil || *m.CPU >= IdleCPU:
		return false
	case m.Requests != nil && *m.Requests > 0, m.Terminal != nil && *m.Terminal:
		return false
	}
	return m.Requests != nil || work != Serving
}

// Option is one way of a proposal, with what it would have done.
type Option struct {
	StopAfterMS int64 `json:"stop_after_ms"`
	StoppedMS   int64 `json:"stopped_ms"`
	Stops       int   `json:"stops"`
	ColdStarts  int   `json:"cold_starts"`
	// CashLow is by the worst day, CashMean by all; nil without a price.
	CashLow  *money.Nano `json:"cash_low"`
	CashMean *money.Nano `json:"cash_mean"`
}

// Reclaim is what a reclaim of idle time depends on beside the windows.
type Reclaim struct {
	// StopAfterMS are the waits to try, in the order of the options.
	StopAfterMS []int64
	// Propose is the one to propose.
	Propose int64
	// NodeGoes: the node has nobody else and is given back while stopped, after
	// ScaleDownMS.
	NodeGoes    bool
	ScaleDownMS int64
	// MinReplicas: the owner keeps so many running.
	MinReplicas int
}

// IdleReclaim replays "stop after so long idle, start at the next use" on the
// recorded time. A minute that is not measured or of which a sign is missing is
// not idle.
func IdleReclaim(s Subject, minutes []Minute, how Reclaim) (Recommendation, error) {
	r := begin(KindReclaim, &s)
	r.Refusals = s.gates()
	if how.MinReplicas > 0 {
		r.Refusals = append(r.Refusals, lack(OptedOut, Say("min_replicas", how.MinReplicas), Say("lower_minimum")))
	}
	r.Refusals = append(r.Refusals, s.alone()...)
	if !told(minutes, s.Work) {
		r.Refusals = append(r.Refusals, lack(NoSignal, Say("idle_signs"), Say("quiet")))
	}
	if blocked(r.Refusals) {
		return r.refuse(), nil
	}
	var chosen Option
	for _, wait := range how.StopAfterMS {
		o, err := s.replay(minutes, wait, how)
		if err != nil {
			return r, err
		}
		r.Options = append(r.Options, o)
		if wait == how.Propose {
			chosen = o
		}
	}
	if chosen.StoppedMS == 0 {
		return r.refuse(lack(NoFit, Say("idle_longer"), Say("in_use"))), nil
	}
	r.Evidence = append(r.Evidence, Evidence{"stopped", "replay", float64(chosen.StoppedMS) / float64(hourMS), "hours", gpu.Measured})
	r.Risk = Risk{Restart: true, Notes: []string{Say("restarts", chosen.Stops, (s.ToMS-s.FromMS)/dayMS), Say("state_lost")}}
	m, err := s.reclaimMoney(chosen, how)
	return r.finish(&s, Change{Idle: fmt.Sprintf("%dm", how.Propose/60_000)}, m), err
}

// told reports whether most minutes carry every sign.
func told(minutes []Minute, work Work) bool {
	var all, dark int64
	for _, m := range minutes {
		all += m.DurationMS
		if m.Active == nil || m.CPU == nil || work == Serving && m.Requests == nil {
			dark += m.DurationMS
		}
	}
	return all > 0 && float64(all-dark) >= MinMeasured*float64(all)
}

// stretch is time that a stop would have saved.
type stretch struct {
	from, to int64
	wakes    bool // something was used afterwards
}

// replay gives what a wait would have saved.
func (s *Subject) replay(minutes []Minute, wait int64, how Reclaim) (Option, error) {
	o := Option{StopAfterMS: wait}
	days := map[int64]int64{}
	var cash int64
	for _, x := range stretches(minutes, wait, s.Work) {
		o.StoppedMS += x.to - x.from
		o.Stops++
		if x.wakes {
			o.ColdStarts++
		}
		from := min(x.from+how.ScaleDownMS, x.to)
		cash += x.to - from
		spread(days, from, x.to)
	}
	if s.Price == nil {
		return o, nil
	}
	if !how.NodeGoes {
		o.CashLow, o.CashMean = new(money.Nano), new(money.Nano)
		return o, nil
	}
	node, err := month(s.Price.NodeHour)
	if err != nil {
		return o, err
	}
	mean, err := part(node, cash, s.ToMS-s.FromMS)
	if err != nil {
		return o, err
	}
	low, err := part(node, worstDay(days, s.FromMS, s.ToMS), dayMS)
	o.CashLow, o.CashMean = &low, &mean
	return o, err
}

// Stop is time in which a workload would have been stopped.
type Stop struct {
	FromMS, ToMS int64
}

// Stops are those that a wait would have made.
func Stops(minutes []Minute, waitMS int64, work Work) (out []Stop) {
	for _, x := range stretches(minutes, waitMS, work) {
		out = append(out, Stop{x.from, x.to})
	}
	return out
}

// stretches are the idle times longer than the wait, less the wait. Idle time
// goes on from minute to minute only where they adjoin.
func stretches(minutes []Minute, wait int64, work Work) []stretch {
	var out []stretch
	for i := 0; i < len(minutes); {
		if !minutes[i].idle(work) {
			i++
			continue
		}
		from, to := minutes[i].StartMS, minutes[i].StartMS+minutes[i].DurationMS
		for i++; i < len(minutes) && minutes[i].idle(work) && minutes[i].StartMS == to; i++ {
			to += minutes[i].DurationMS
		}
		if to-from > wait {
			out = append(out, stretch{from + wait, to, i < len(minutes)})
		}
	}
	return out
}

// spread adds a stretch to the UTC days that it lies in.
func spread(days map[int64]int64, from, to int64) {
	for from < to {
		day := from / dayMS
		end := min(to, (day+1)*dayMS)
		days[day] += end - from
		from = end
	}
}

// worstDay is what the day with the least saved, of those looked at in full. It
// is 0 where there is none.
func worstDay(days map[int64]int64, from, to int64) int64 {
	var all []int64
	for day := (from + dayMS - 1) / dayMS; (day+1)*dayMS <= to; day++ {
		all = append(all, days[day])
	}
	if len(all) == 0 {
		return 0
	}
	return slices.Min(all)
}

func (s *Subject) reclaimMoney(o Option, how Reclaim) (*Money, error) {
	if s.Price == nil {
		return nil, nil
	}
	card, err := month(s.Price.DeviceHour)
	if err != nil {
		return nil, err
	}
	delta, err := part(card, o.StoppedMS, s.ToMS-s.FromMS)
	if err != nil {
		return nil, err
	}
	m := s.Price.money(Capacity)
	m.ChargeDelta = &delta
	if how.NodeGoes && o.CashMean != nil {
		m.Class, m.CashLow, m.CashMean = Cash, *o.CashLow, *o.CashMean
	}
	m.FreedIdle = delta - m.CashMean
	return m, nil
}
