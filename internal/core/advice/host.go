// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"fmt"
	"math"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
)

// HostShare is CPU and memory of a host.
type HostShare struct {
	CPUMilli    int64
	MemoryBytes uint64
}

// Host is a GPU node as its CPU and memory limit it.
type Host struct {
	Name string
	// Allocatable is what pods may have of it; Other what all pods but the subject's
	// ask for.
	Allocatable, Other HostShare
	GPUs, UsedGPUs     int
	// Replicas are the subject's pods there, with Each GPUs (0 counts as 1).
	Replicas, Each int
	// Price is what it costs; nil: that of the subject.
	Price *Price
}

// HostUse is what one of the subject's pods asks for, and what it used: P999Milli
// but for a thousandth of the time, MostBytes at any time. nil is not known.
type HostUse struct {
	Request   HostShare
	P999Milli *int64
	MostBytes *uint64
	// PendingMS is how long of the period such pods waited for a place.
	PendingMS int64
}

// stranded is how many free GPUs none of such pods can have, for want of CPU or memory.
func (h *Host) stranded(request HostShare) int {
	free := max(h.GPUs-h.UsedGPUs, 0)
	each := max(h.Each, 1)
	fit := int64(free / each)
	used := HostShare{h.Other.CPUMilli + int64(h.Replicas)*request.CPUMilli, h.Other.MemoryBytes + uint64(h.Replicas)*request.MemoryBytes}
	if request.CPUMilli > 0 {
		fit = min(fit, max(h.Allocatable.CPUMilli-used.CPUMilli, 0)/request.CPUMilli)
	}
	if request.MemoryBytes > 0 {
		left := uint64(0)
		if used.MemoryBytes < h.Allocatable.MemoryBytes {
			left = h.Allocatable.MemoryBytes - used.MemoryBytes
		}
		fit = min(fit, int64(min(left/request.MemoryBytes, math.MaxInt32)))
	}
	return free/each*each - int(fit)*each
}

func strandedOn(hosts []Host, request HostShare) (n int) {
	for i := range hosts {
		n += hosts[i].stranded(request)
	}
	return n
}

// HostRequest proposes to ask for less CPU or memory, where that gives GPUs back that
// nobody can have now. It lowers no more than what does.
func HostRequest(s Subject, use HostUse, hosts ...Host) (Recommendation, error) {
	r := begin(KindHostDemand, &s)
	r.Refusals = s.gates()
	r.Current.CPUMilli, r.Current.HostBytes = use.Request.CPUMilli, use.Request.MemoryBytes
	if len(hosts) == 0 {
		r.Refusals = append(r.Refusals, lack(NoSignal, Say("node_shares"), Say("update_agents")))
	}
	least := use.least()
	if least == use.Request {
		r.Refusals = append(r.Refusals, use.nothing())
	}
	if blocked(r.Refusals) {
		return r.refuse(), nil
	}
	use.evidence(&r)
	want, before, after := use.enough(hosts, least)
	r.Tests = append(r.Tests, Test{Of: want.text(use.Request), Name: Say("stranded_gpus"), Sum: Say("before", before), Value: float64(after), Limit: float64(before - 1), Holds: after < before})
	if after >= before {
		return r.refuse(lack(NoCapacityEffect, Say("freeing_request"), Say("not_limiting"))), nil
	}
	r.Risk = Risk{Restart: true, Notes: []string{Say("bursts"), Say("same_gpus")}}
	if use.PendingMS > 0 {
		r.Risk.Notes = append(r.Risk.Notes, Say("pods_waited", fmt.Sprintf("%.1f", float64(use.PendingMS)/3_600_000)))
	}
	m, err := s.hostMoney(hosts, use.Request, want, use.PendingMS)
	out := Change{CPUMilli: want.CPUMilli, HostBytes: want.MemoryBytes}
	if want.CPUMilli == use.Request.CPUMilli {
		out.CPUMilli = 0
	}
	if want.MemoryBytes == use.Request.MemoryBytes {
		out.HostBytes = 0
	}
	return r.finish(&s, out, m), err
}

// least is what a pod can do with: what it used with the margin, never more than it
// asks for now.
func (u *HostUse) least() HostShare {
	out := u.Request
	if u.P999Milli != nil && out.CPUMilli > 0 {
		out.CPUMilli = min(out.CPUMilli, wholeCores(*u.P999Milli))
	}
	if u.MostBytes != nil && out.MemoryBytes > 0 {
		if need, ok := withMargin(*u.MostBytes); ok {
			out.MemoryBytes = min(out.MemoryBytes, wholeGiB(need))
		}
	}
	return out
}

// nothing is why no request can be lowered.
func (u *HostUse) nothing() Refusal {
	if u.P999Milli == nil && u.MostBytes == nil || u.Request == (HostShare{}) {
		return lack(NoSignal, Say("host_use"), Say("cgroups"))
	}
	return lack(NoFit, Say("smaller_request"), Say("use_all"))
}

func (u *HostUse) evidence(r *Recommendation) {
	if u.P999Milli != nil {
		r.Evidence = append(r.Evidence, Evidence{"cpu", "p99.9", float64(*u.P999Milli) / 1000, "cores", gpu.Measured})
	}
	if u.MostBytes != nil {
		r.Evidence = append(r.Evidence, Evidence{"memory_working_set", "max", float64(*u.MostBytes), "bytes", gpu.Measured})
	}
}

// enough is the smallest change that frees as much as all of it would: of CPU, of
// memory, or of both.
func (u *HostUse) enough(hosts []Host, least HostShare) (want HostShare, before, after int) {
	before, after = strandedOn(hosts, u.Request), strandedOn(hosts, least)
	for _, one := range []HostShare{{least.CPUMilli, u.Request.MemoryBytes}, {u.Request.CPUMilli, least.MemoryBytes}} {
		if one != u.Request && strandedOn(hosts, one) == after {
			return one, before, after
		}
	}
	return least, before, after
}

// text is what of a request is another one than before.
func (h HostShare) text(before HostShare) string {
	switch {
	case h.MemoryBytes == before.MemoryBytes:
		return Say("cpus", h.CPUMilli/1000)
	case h.CPUMilli == before.CPUMilli:
		return gib(h.MemoryBytes)
	}
	return Say("cpus_memory", h.CPUMilli/1000, gib(h.MemoryBytes))
}

// wholeCores is what was used with the margin, a core at least, rounded up.
func wholeCores(p999Milli int64) int64 {
	milli := max((p999Milli*marginNum+marginDen-1)/marginDen, 1000)
	return (milli + 999) / 1000 * 1000
}

func wholeGiB(n uint64) uint64 { return (n + 1<<30 - 1) >> 30 << 30 }

// hostMoney: stranded cards become idle ones. They avoid a purchase for as long
// as pods waited for them.
func (s *Subject) hostMoney(hosts []Host, request, want HostShare, pendingMS int64) (sum *Money, err error) {
	for i := range hosts {
		on := *s
		if hosts[i].Price != nil {
			on.Price = hosts[i].Price
		}
		cards := hosts[i].stranded(request) - hosts[i].stranded(want)
		if cards == 0 {
			continue
		}
		m, err := on.cardsMoney(cards)
		if m == nil || err != nil {
			return nil, err
		}
		if m, err = freed(m, on.Price, pendingMS, s.ToMS-s.FromMS); err != nil {
			return nil, err
		}
		if sum, err = sum.Plus(m); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

// freed is the money of cards that nobody could have and somebody can. What the
// subject is charged for its own CPU and memory falls with its request, where they have
// a part of the node's price: by how much is not known here.
func freed(m *Money, p *Price, pendingMS, periodMS int64) (_ *Money, err error) {
	m.ChargeDelta = nil
	if p.Split == allGPU {
		m.ChargeDelta = new(money.Nano)
	}
	m.FreedStranded = -m.FreedIdle
	if pendingMS > 0 {
		m.Class = Avoidable
		m.Avoidable, err = part(m.FreedIdle, min(pendingMS, periodMS), periodMS)
	}
	return m, err
}

// allGPU is the split that has all of a node's price on its GPUs (pricing.RuleAllGPU).
const allGPU = "all-gpu"
