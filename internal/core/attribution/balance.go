// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// balance is one partition's memory while it is being divided. At the end
// capacity = reserve + Σ piles + unattributed + free, in whole bytes.
type balance struct {
	capacity, reserve, used uint64
	unattributed            uint64
	skewed                  bool
	// blended: the driver does not tell its reserve, which is in used.
	blended bool
}

// newBalance takes NVML's figures. Readings that cannot be (a reserve or a
// use beyond the capacity) are cut to it and graded skewed.
func newBalance(m sample.Memory) *balance {
	b := &balance{capacity: m.Total, reserve: m.Reserved, used: m.Used, blended: m.ReserveUnknown}
	if b.reserve > b.capacity {
		b.reserve, b.skewed = b.capacity, true
	}
	if b.used > b.capacity-b.reserve {
		b.used, b.skewed = b.capacity-b.reserve, true
	}
	return b
}

// fillUnsized gives holders of unknown size what the sized ones leave of the
// used memory: all of it, exactly, where one pod is alone on the partition;
// equal parts, estimated, where several have no size.
func (b *balance) fillUnsized(piles []*pile) {
	known := total(piles)
	var unsized [][]*pile // by owner: a pod's containers share its part
	for _, c := range piles {
		if c.unsized == 0 {
			continue
		}
		if n := len(unsized); n > 0 && sameOwner(unsized[n-1][0].holder, c.holder) {
			unsized[n-1] = append(unsized[n-1], c)
			continue
		}
		unsized = append(unsized, []*pile{c})
	}
	if len(unsized) == 0 {
		return
	}
	rest := uint64(0)
	if b.used > known {
		rest = b.used - known
	}
	alone := len(unsized) == 1 && len(unsized[0]) == 1 && oneOwner(piles)
	for i, part := range even(rest, len(unsized)) {
		for j, bytes := range even(part, len(unsized[i])) {
			unsized[i][j].known += bytes
			unsized[i][j].grade = gpu.Estimated
			if alone && !b.blended {
				unsized[i][j].grade = gpu.Derived
			}
		}
	}
}

// even cuts n into k parts that sum to n; the first ones take the remainder.
func even(n uint64, k int) []uint64 {
	out := make([]uint64, k)
	for i := range out {
		out[i] = n / uint64(k)
		if uint64(i) < n%uint64(k) {
			out[i]++
		}
	}
	return out
}

func sameOwner(a, b workload.Holder) bool {
	return a.Kind == b.Kind && a.PodKey() == b.PodKey() && a.Unit == b.Unit
}

func oneOwner(piles []*pile) bool {
	for _, c := range piles {
		if !sameOwner(piles[0].holder, c.holder) {
			return false
		}
	}
	return true
}

// fit makes the piles fit the capacity. Processes that add up to more than is
// used keep their figures (the reads are not atomic), and nothing is
// unattributed; beyond what the device has at all, they are scaled to it.
func (b *balance) fit(piles []*pile) {
	sum := total(piles)
	if sum <= b.used {
		b.unattributed = b.used - sum
		return
	}
	b.skewed = true
	if room := b.capacity - b.reserve; sum > room {
		scale(piles, sum, room)
	}
}

// scale shrinks the piles in proportion so that they sum to room exactly.
func scale(piles []*pile, sum, room uint64) {
	left := room
	for _, c := range piles {
		c.known = gpu.Ratio{Num: room, Den: sum}.Of(c.known)
		left -= c.known
	}
	for i := 0; left > 0 && len(piles) > 0; i = (i + 1) % len(piles) {
		piles[i].known++
		left--
	}
}

// shareServer takes what an MPS server holds above its own base, while it
// lists no clients, and shares it equally between the pods with replicas on
// the partition: it is theirs, and how much each has cannot be seen
// (dcgm-exporter PR#734).
func (w *work) shareServer(p *part, piles []*pile) []*pile {
	var server *pile
	for _, c := range piles {
		if c.server {
			server = c
		}
	}
	if server == nil || server.unsized > 0 || server.known <= w.policy.mpsBase() || w.hasClients(p, piles) {
		return piles
	}
	pods := w.replicaPods(p)
	if len(pods) == 0 {
		return piles
	}
	excess := server.known - w.policy.mpsBase()
	server.known = w.policy.mpsBase()
	for i, bytes := range even(excess, len(pods)) {
		piles = append(piles, &pile{holder: pods[i], known: bytes, grade: gpu.Estimated})
	}
	slices.SortFunc(piles, func(a, b *pile) int { return a.holder.Compare(b.holder) })
	return piles
}

// hasClients: a pod with a grant, or any MPS client, has a process here.
func (w *work) hasClients(p *part, piles []*pile) bool {
	for _, h := range p.held {
		if h.Kind == sample.KindMPS {
			return true
		}
	}
	for _, c := range piles {
		if c.holder.Kind == workload.KindPod && w.grants.has(p, c.holder) {
			return true
		}
	}
	return false
}

func (w *work) replicaPods(p *part) []workload.Holder {
	var out []workload.Holder
	for _, d := range w.grants.sorted(p) {
		if d.shared {
			out = append(out, d.Holder)
		}
	}
	return out
}
