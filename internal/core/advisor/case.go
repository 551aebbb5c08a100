// SPDX-License-Identifier: Apache-2.0

package advisor

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/activity"
	"github.com/gputally/gputally/internal/core/advice"
	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/workload"
)

// hourMS is the length of an hour.
const hourMS = int64(3_600_000)

// A workload counts as being there while it was seen in the last stillMS of the time
// looked at, so that a notebook is not gone over a weekend; a training that ended, for
// pastRunsMS.
const (
	stillMS    = 72 * hourMS
	pastRunsMS = 7 * 24 * hourMS
)

// Case is a workload on one kind of partition, and what was seen of it.
type Case struct {
	advice.Subject
	Profile string
	// hours are the evidence, in order.
	hours []*activity.Hour
	// now are the places that it has in its last hour.
	now []place
	// lookedTo is the end of the time looked at.
	lookedTo int64
	// told are the profiles that a driver told of the card, nil where none has.
	told []advice.Profile
	// pods is how many pods it has in its last hour.
	pods int
}

// place is a partition that a workload has, and the node that is paid for it.
type place struct {
	cluster, node string
	partition     gpu.PartitionID
}

// Cases parts the hours of one workload by kind of partition and makes evidence of
// each, for the time [fromMS, toMS). A workload that is gone makes none.
func Cases(hours []*activity.Hour, fromMS, toMS int64) (out []*Case) {
	type kind struct{ model, profile string }
	of := map[kind][]*activity.Hour{}
	for _, h := range hours {
		if h.GrantedMS > 0 || h.PeakBytes == nil || *h.PeakBytes > 0 {
			k := kind{h.Model, h.Profile}
			of[k] = append(of[k], h)
		}
	}
	kinds := slices.SortedFunc(maps.Keys(of), func(a, b kind) int {
		return cmp.Or(cmp.Compare(a.model, b.model), cmp.Compare(a.profile, b.profile))
	})
	for _, k := range kinds {
		if c := caseOf(of[k], fromMS, toMS); c != nil {
			out = append(out, c)
		}
	}
	return out
}

func caseOf(hours []*activity.Hour, fromMS, toMS int64) *Case {
	slices.SortFunc(hours, func(a, b *activity.Hour) int {
		return cmp.Or(cmp.Compare(a.HourMS, b.HourMS), a.Partition.Compare(b.Partition), a.Holder.Compare(b.Holder))
	})
	last := hours[len(hours)-1]
	work := WorkOf(last.Owner, last.Holder)
	still := stillMS
	if work == advice.Training {
		still = pastRunsMS
	}
	if last.HourMS+hourMS+still <= toMS {
		return nil
	}
	c := &Case{Profile: last.Profile, lookedTo: toMS}
	c.hours, c.Changed = sameTemplate(hours)
	c.Work = work
	c.Target = targetOf(c.hours)
	c.FromMS, c.ToMS = max(fromMS, c.hours[0].HourMS), min(toMS, last.HourMS+hourMS)
	c.OptedOut, c.LatencyDeclared = optedOut(last.About.Advice, toMS), last.About.Latency != ""
	c.measure()
	c.place(last.HourMS)
	c.device()
	c.Current.Resource, c.Current.Model, c.Current.Count = "nvidia.com/gpu", c.Device.Model, c.GPUs
	if c.Profile != "" {
		c.Current.Resource, c.Current.Profile = "nvidia.com/mig-"+strings.ReplaceAll(c.Profile, "+", "."), c.Profile
	}
	return c
}

func targetOf(hours []*activity.Hour) advice.Target {
	last := hours[len(hours)-1]
	owner := ownerOf(last.Owner, last.Holder)
	t := advice.Target{Cluster: last.Cluster, Namespace: last.Holder.Namespace, Owner: owner.Kind + "/" + owner.Name}
	return t
}

// ownerOf is whom a pod belongs to: itself, where nobody else is known.
func ownerOf(o workload.Owner, pod workload.Holder) workload.Owner {
	if o.Name == "" {
		return workload.Owner{Kind: "Pod", Name: pod.Pod}
	}
	return o
}

// sameTemplate keeps the hours of the newest template, and says whether there were
// others. Hours of which no template is known count as being of it.
func sameTemplate(hours []*activity.Hour) ([]*activity.Hour, bool) {
	newest := templateOf(hours[len(hours)-1])
	same := slices.DeleteFunc(slices.Clone(hours), func(h *activity.Hour) bool {
		is := templateOf(h)
		return newest != "" && is != "" && is != newest
	})
	return same, len(same) < len(hours)
}

// templateOf is the template of a pod: as its labels say, or, of a Deployment's pods,
// their names (DEPLOYMENT-HASH-RANDOM); "" where neither does.
func templateOf(h *activity.Hour) string {
	if h.About.Template != "" {
		return h.About.Template
	}
	rest, ok := strings.CutPrefix(h.Holder.Pod, h.Owner.Name+"-")
	if h.Owner.Kind != "Deployment" || !ok {
		return ""
	}
	hash, _, _ := strings.Cut(rest, "-")
	return hash
}

// place finds what the workload has in its last hour.
func (c *Case) place(hour int64) {
	pods := map[string]bool{}
	seen := map[place]bool{}
	for _, h := range c.hours {
		if h.HourMS != hour {
			continue
		}
		pods[h.Holder.PodKey()] = true
		p := place{h.Cluster, h.Node, h.Partition}
		if !seen[p] {
			seen[p] = true
			c.now = append(c.now, p)
			c.Target.Partitions = append(c.Target.Partitions, h.Partition.String())
		}
	}
	c.pods = len(pods)
	if nodes := nodesOf(c.now); len(nodes) == 1 {
		c.Target.Node = nodes[0]
	}
	slices.Sort(c.Target.Partitions)
}

// Size is how many pods and partitions the workload has in its last hour.
func (c *Case) Size() (pods, partitions int) { return c.pods, len(c.now) }

// Running reports whether it had pods in the last hour that was looked at.
func (c *Case) Running() bool { return c.hours[len(c.hours)-1].HourMS+hourMS >= c.lookedTo }

// On reports whether it has a partition of the node in its last hour.
func (c *Case) On(node string) bool { return slices.Contains(nodesOf(c.now), node) }

// Nodes are those that it has partitions of in its last hour.
func (c *Case) Nodes() []string { return nodesOf(c.now) }

func nodesOf(places []place) (out []string) {
	for _, p := range places {
		out = append(out, p.node)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// device says what is known of the card.
func (c *Case) device() {
	last := c.hours[len(c.hours)-1]
	d := &c.Device
	d.Model, d.ReserveBytes = last.Model, last.ReserveBytes
	if last.CapacityBytes != nil {
		d.CapacityBytes = *last.CapacityBytes
	}
	card, known := gpu.CardOf(last.Model, d.CapacityBytes)
	if last.Profile != "" {
		card, known = gpu.CardWith(last.Model, last.Profile)
		c.HaveSlices = last.Slices
		d.Slices = last.DeviceSlices
	}
	if !known {
		return
	}
	d.SMs, d.Slices = card.SMs, card.Slices()
	d.Bandwidth, d.Tensor, d.Capability = card.Bandwidth, card.Tensor, card.Capability
	if p, ok := card.Profile(last.Profile); ok {
		c.HaveSMs = p.SMs
	}
}

// learn takes over what a driver tells of the card's MIG profiles: it counts before what
// NVIDIA's tables say. Profiles with other engines (+me, +gfx, -me) are left out, as
// there.
func (c *Case) learn(card *attribution.Card) {
	if card == nil {
		return
	}
	c.told, c.Device.Legal = nil, nil
	largest := uint32(0)
	for _, p := range card.Profiles {
		if !plainSize(&p) {
			continue
		}
		c.told = append(c.told, advice.Profile{Name: p.Name, Bytes: p.Bytes, SMs: p.SMs, Slices: p.Placements[0].Size})
		c.Device.Legal = append(c.Device.Legal, p)
		largest = max(largest, p.SMs)
		if c.Profile == p.Name {
			c.HaveSMs = p.SMs
		}
	}
	if len(c.told) == 0 {
		return
	}
	c.Device.Slices = card.MemorySlices
	if c.Device.SMs == 0 && c.HaveSMs > 0 {
		c.Device.SMs = largest // of a card that no table has, and that is an instance here
	}
}

// profiles are those that the card can be cut into.
func (c *Case) profiles() (out []advice.Profile) {
	if c.told != nil {
		return c.told
	}
	card, known := gpu.CardOf(c.Device.Model, c.Device.CapacityBytes)
	if c.Profile != "" {
		card, known = gpu.CardWith(c.Device.Model, c.Profile)
	}
	if !known {
		return nil
	}
	for _, p := range card.Profiles {
		out = append(out, advice.Profile{Name: p.Name, Bytes: p.Bytes, SMs: p.SMs, Slices: p.Slices})
	}
	return out
}
