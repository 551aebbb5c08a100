// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/signal"
)

// Profile is a MIG profile as NVML gives it for the card: a name is no size.
type Profile struct {
	Name  string
	Bytes uint64
	SMs   uint32
	// Slices are memory slices: what it costs.
	Slices uint32
}

// SmallerProfile proposes the smallest MIG profile of the same card that holds
// what the workload needs. Every profile tried leaves its tests.
func SmallerProfile(s Subject, profiles []Profile) (Recommendation, error) {
	r := begin(KindMIG, &s)
	r.Refusals = append(s.gates(), s.divisible(profiles)...)
	need, haveNeed := s.memory(&r)
	sm, dram, haveWork := s.work(&r)
	if !haveNeed || !haveWork || blocked(r.Refusals) {
		return r.refuse(), nil
	}
	for _, p := range bySize(profiles) {
		if p.Slices >= s.slices() || p.SMs == 0 {
			continue
		}
		tests := s.fits(p, need, sm, dram)
		r.Tests = append(r.Tests, tests...)
		if slices.ContainsFunc(tests, func(t Test) bool { return !t.Holds }) {
			continue
		}
		r.Refusals = append(r.Refusals, s.latency()...)
		r.Risk = s.slower(p)
		m, err := s.sliceMoney(p)
		return r.finish(&s, Change{Resource: "nvidia.com/mig-" + p.Name, Profile: p.Name, Count: 1}, m), err
	}
	return r.refuse(lack(NoFit, Say("smaller_profile"), Say("profile_tests"))), nil
}

// divisible refuses what cannot run on a MIG instance.
func (s *Subject) divisible(profiles []Profile) (out []Refusal) {
	switch {
	case s.Device.Slices == 0 || s.Device.SMs == 0 || len(profiles) == 0:
		out = append(out, lack(MIGUnsupported, Say("mig_profiles"), Say("mig_models")))
	case s.IPC:
		out = append(out, lack(MIGUnsupported, Say("no_ipc"), Say("mig_apart")))
	}
	if s.GPUs > 1 {
		out = append(out, lack(MultiGPU, Say("one_gpu_has", s.GPUs), Say("no_peer")))
	}
	if s.Graphics {
		out = append(out, lack(Graphics, Say("graphics"), Say("compute_only")))
	}
	return out
}

// bySize orders profiles by what they cost, then by memory, SMs and name.
func bySize(profiles []Profile) []Profile {
	out := slices.Clone(profiles)
	slices.SortFunc(out, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(a.Slices, b.Slices), cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.SMs, b.SMs), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// slices and sms are what the workload has now: an instance, or the card.
func (s *Subject) slices() uint32 { return cmp.Or(s.HaveSlices, s.Device.Slices) }

func (s *Subject) sms() uint32 { return cmp.Or(s.HaveSMs, s.Device.SMs) }

func (s *Subject) fits(p Profile, need uint64, sm, dram float64) []Test {
	smThere := sm * float64(s.sms()) / float64(p.SMs)
	dramThere := dram * float64(s.slices()) / float64(p.Slices) / signal.DRAMPeak
	return []Test{
		memoryTest(p.Name, need, p.Bytes),
		test(p.Name, "sm", smThere, SMMost, Say("sms_of", fmt.Sprintf("%.3f", sm), s.sms(), p.SMs)),
		test(p.Name, "dram", dramThere, LoadMost, Say("slices_of", fmt.Sprintf("%.3f", dram), s.slices(), p.Slices, fmt.Sprintf("%.2f", signal.DRAMPeak))),
	}
}

func (s *Subject) slower(p Profile) Risk {
	return Risk{SlowdownBound: float64(s.sms()) / float64(p.SMs), Restart: true,
		Notes: []string{Say("average_latency"), Say("pods_gone")}}
}

// sliceMoney is the money of moving to a profile. The card is paid as before: it
// frees slices, and cash only in a plan that empties a node. Beside other
// instances all freed slices count as idle: what strands depends on a layout that
// a plan decides.
func (s *Subject) sliceMoney(p Profile) (*Money, error) {
	if s.Price == nil {
		return nil, nil
	}
	card, err := month(s.Price.DeviceHour)
	if err != nil {
		return nil, err
	}
	stranded := int64(0)
	if s.HaveSlices == 0 {
		stranded = int64(s.LeastStranded(p.Slices))
	}
	freed := int64(s.slices() - p.Slices)
	rest := int64(s.Device.Slices) - freed
	if rest < 0 || stranded > freed {
		return nil, fmt.Errorf("profile %s: %d slices do not fit a card of %d", p.Name, p.Slices, s.Device.Slices)
	}
	parts, err := money.ApportionInts(card, freed-stranded, stranded, rest)
	if err != nil {
		return nil, err
	}
	m := s.Price.money(Capacity)
	delta := parts[0] + parts[1]
	m.ChargeDelta, m.FreedIdle, m.FreedStranded = &delta, parts[0], parts[1]
	return m, nil
}

// LeastStranded is how many slices no further instance could cover when one of
// that size lies where it wastes least.
func (s *Subject) LeastStranded(size uint32) uint32 {
	legal := s.Device.Legal
	if len(legal) == 0 {
		legal = gpu.LegalPlacements(s.Device.Slices)
	}
	least := uint32(0)
	found := false
	for _, profile := range legal {
		for _, at := range profile.Placements {
			if at.Size != size {
				continue
			}
			if n := gpu.Stranded(s.Device.Slices, legal, []gpu.Placement{at}); !found || n < least {
				least, found = n, true
			}
		}
	}
	return least
}
