// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// world is what is true of a node: which pods run, what each was given and
// what its processes hold. Samples of it tell this as far as the sources do,
// each of which fails at random: the kubelet's list is unreadable, or begins
// anew and names few; the API server's objects stay as they were; the agent
// knows nothing of before. See TestFailuresMakeNothingUp.
type world struct {
	now   int64 // seconds
	cards int
	pods  []*tenant
	past  []*tenant // those whose names others have now
	// names are the DRA names of the cards in the newest generation.
	names      map[int]string
	generation int64
	next       int
	// told: the last sample told of everything.
	told bool

	kubelet string // ok, unreadable or starting
	named   map[string]bool
	// seen are the objects as of the last time that the API server answered.
	seen  sample.Objects
	known bool
	stale bool
}

// tenant is a pod. All of its pods are honest but the leaker, which was given
// nothing and takes from all cards.
type tenant struct {
	number int
	name   string
	how    string      // plugin, claim, shared, hami, admin, leak
	given  map[int]int // card: bytes granted in GiB, 0 for all of it
	device string      // the claim's device name when it was prepared
	claim  string
	made   int            // the number of the pod for which the claim was made
	holds  map[int]uint64 // card: bytes; a process on each
	ended  bool
	// linger: its processes left /proc, and NVML still lists their memory.
	linger bool
}

func (p *tenant) uid() string { return podUID(p.number) }

func newWorld(t *rapid.T) *world {
	w := &world{cards: rapid.IntRange(2, 4).Draw(t, "cards"), names: map[int]string{}, generation: 1, kubelet: "ok"}
	for i := range w.cards {
		w.names[i] = fmt.Sprintf("gpu-%d", i)
	}
	if rapid.Bool().Draw(t, "observer") {
		p := w.add("admin")
		for i := range w.cards {
			p.given[i], p.holds[i] = 0, 1<<20
		}
	}
	if rapid.Bool().Draw(t, "leaker") {
		p := w.add("leak")
		for i := range w.cards {
			p.holds[i] = 1 << 21
		}
	}
	return w
}

func (w *world) add(how string) *tenant {
	w.next++
	p := &tenant{number: w.next, name: fmt.Sprintf("p%d", w.next), how: how, given: map[int]int{}, holds: map[int]uint64{}}
	w.pods = append(w.pods, p)
	return p
}

// step lets something happen, to the node and to its sources.
func (w *world) step(t *rapid.T) {
	w.now += 5
	switch rapid.IntRange(0, 5).Draw(t, "kubelet") {
	case 0:
		w.kubelet = "unreadable"
	case 1:
		w.kubelet = "starting"
	case 2, 3:
		w.kubelet = "ok"
	}
	if rapid.IntRange(0, 2).Draw(t, "api") == 0 {
		w.stale = !w.stale
	}
	switch rapid.IntRange(0, 5).Draw(t, "event") {
	case 0, 1:
		w.begin(t)
	case 2:
		w.end(t)
	case 3:
		w.rename(t)
	}
	w.named = map[string]bool{}
	for _, p := range w.pods {
		w.named[p.name] = w.kubelet == "ok" || rapid.Bool().Draw(t, "named")
	}
	if !w.stale {
		w.seen, w.known = w.objects(), true
	}
}

// restart forgets what only the agent knew.
func (w *world) restart() {
	w.told = false
	if w.stale {
		w.seen, w.known = sample.Objects{}, false
	}
}

// free are the cards that nobody was given, to observe apart, and those of
// which HAMi's pods have parts.
func (w *world) free() (whole, part []int) {
	for card := range w.cards {
		taken, parts := false, 0
		for _, p := range w.pods {
			if gib, has := p.given[card]; has && !p.ended && p.how != "admin" {
				taken, parts = taken || gib == 0, parts+gib
			}
		}
		if !taken && parts == 0 {
			whole = append(whole, card)
		}
		if !taken && parts <= 30 {
			part = append(part, card)
		}
	}
	return whole, part
}

// begin starts a pod, under a new name or that of one that ended.
func (w *world) begin(t *rapid.T) {
	how := rapid.SampledFrom([]string{"plugin", "claim", "shared", "hami"}).Draw(t, "how")
	whole, part := w.free()
	cards := whole
	if how == "hami" {
		cards = part
	}
	if len(cards) == 0 {
		return
	}
	card := rapid.SampledFrom(cards).Draw(t, "card")
	copies := 1
	if how == "shared" {
		copies = 2
	}
	claim, made := "", w.next+1
	for range copies {
		p := w.add(how)
		if old := w.replaceable(); old != nil && rapid.Bool().Draw(t, "same name") {
			p.name, w.past = old.name, append(w.past, old)
			w.pods = slices.DeleteFunc(w.pods, func(o *tenant) bool { return o == old })
		}
		if claim == "" { // the name of one that is gone, perhaps
			claim = "of-" + p.name
			if slices.ContainsFunc(w.pods, func(o *tenant) bool { return o.claim == claim && !o.ended }) {
				claim = fmt.Sprintf("of-number-%d", p.number)
			}
		}
		p.claim, p.made, p.device = claim, made, w.names[card]
		p.given[card] = 0
		if how == "hami" {
			p.given[card] = 8
		}
		if rapid.IntRange(0, 3).Draw(t, "works") > 0 {
			p.holds[card] = uint64(rapid.IntRange(1, 8).Draw(t, "gib")) << 30
		}
	}
}

// replaceable is a pod that ended and has left nothing.
func (w *world) replaceable() *tenant {
	for _, p := range w.pods {
		if p.ended && len(p.holds) == 0 {
			return p
		}
	}
	return nil
}

func (w *world) end(t *rapid.T) {
	for _, p := range w.pods {
		if p.linger {
			p.linger, p.holds = false, map[int]uint64{}
		}
	}
	var alive []*tenant
	for _, p := range w.pods {
		if !p.ended && p.how != "admin" && p.how != "leak" {
			alive = append(alive, p)
		}
	}
	if len(alive) == 0 {
		return
	}
	p := rapid.SampledFrom(alive).Draw(t, "ends")
	p.ended = true
	if p.linger = rapid.IntRange(0, 4).Draw(t, "linger") == 0; !p.linger {
		p.holds = map[int]uint64{}
	}
}

// rename gives the cards each other's names, in a new generation. Of a pod that
// the agent has not been told of before, or of a generation that it has not
// heard of, nothing says what a name means.
func (w *world) rename(t *rapid.T) {
	if !w.told || w.stale {
		return
	}
	cards := slices.Sorted(maps.Keys(w.names))
	names := slices.Sorted(maps.Values(w.names))
	for i, n := range rapid.Permutation(names).Draw(t, "names") {
		w.names[cards[i]] = n
	}
	w.generation++
}

// restartable: nothing that a new agent has to be told depends on names that
// have changed hands, which no source tells any more.
func (w *world) restartable() bool {
	for _, p := range w.pods {
		if !p.ended && p.claim != "" && p.how != "hami" && p.how != "plugin" {
			for card := range p.given {
				if w.names[card] != p.device {
					return false
				}
			}
		}
	}
	return true
}

func (w *world) sample() sample.Sample {
	s := sample.Sample{
		Node: "n", At: time.Unix(1_800_000_000+w.now, 0).UTC(), MonoMS: w.now * 1000,
		NVML: sample.Library{OK: true}, Processes: map[int]sample.Process{}, Objects: w.seen,
		Sources: map[string]sample.SourceStatus{sample.SourceObjects: {OK: !w.stale}},
	}
	s.Objects.Known = w.known
	for card := range w.cards {
		s.Devices = append(s.Devices, w.device(card, s.Processes))
	}
	if w.told = false; w.kubelet == "unreadable" {
		return s
	}
	s.Grants.Readable = true
	w.told = w.kubelet == "ok" && !w.stale
	for _, p := range w.pods {
		if !p.ended && w.named[p.name] {
			s.Grants.Pods = append(s.Grants.Pods, w.listed(p))
		}
	}
	return s
}

func (w *world) device(card int, processes map[int]sample.Process) sample.Device {
	d := sample.Device{UUID: deviceUUID(card), Index: card, Minor: w.minor(card), State: gpu.StateOK, MemorySlices: 8}
	used := uint64(7 << 20) // of nobody
	for _, p := range w.pods {
		bytes, ok := p.holds[card]
		if !ok {
			continue
		}
		pid := p.number*10 + card
		d.Processes = append(d.Processes, sample.Held{PID: pid, Kind: sample.KindCompute, Bytes: &bytes})
		used += bytes
		if !p.linger {
			processes[pid] = sample.Process{StartTicks: uint64(pid), Comm: "python", Cgroup: cgroupOf(p.number)}
		}
	}
	d.Memory = &sample.Memory{Total: 80 << 30, Reserved: 1 << 29, Used: used}
	return d
}

// minor is what the driver names a card after.
func (w *world) minor(card int) int {
	name, _ := workload.ParseDRADeviceName(w.names[card])
	return int(name.Minor)
}

func (w *world) listed(p *tenant) workload.PodResources {
	c := workload.ContainerResources{Name: "c"}
	for _, card := range slices.Sorted(maps.Keys(p.given)) {
		switch p.how {
		case "plugin":
			c.Devices = []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{string(deviceUUID(card))}}}
		case "hami": // a slot of the pool, which names any card of it
			c.Devices = []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{fmt.Sprintf("%s-%d", deviceUUID((card+1)%w.cards), p.number)}}}
		case "claim", "shared":
			c.Dynamic = []workload.ClaimDevices{{Namespace: "ns", Name: p.claim, Devices: []workload.ClaimDevice{w.claimed(p.device)}}}
		}
	}
	if p.how == "admin" {
		c.Dynamic = []workload.ClaimDevices{{Namespace: "ns", Name: "of-" + p.name}}
		for card := range w.cards {
			c.Dynamic[0].Devices = append(c.Dynamic[0].Devices, w.claimed(fmt.Sprintf("gpu-%d", card)))
		}
	}
	return workload.PodResources{Namespace: "ns", Name: p.name, Containers: []workload.ContainerResources{c}}
}

func (w *world) claimed(device string) workload.ClaimDevice {
	return workload.ClaimDevice{Driver: "gpu.nvidia.com", Pool: "n", Device: device}
}

// objects are what the API server would say.
func (w *world) objects() sample.Objects {
	o := sample.Objects{}
	slice := workload.Slice{Name: "s", Driver: "gpu.nvidia.com", Pool: "n", Generation: w.generation}
	for card := range w.cards {
		slice.Devices = append(slice.Devices, workload.SliceDevice{Name: w.names[card], Type: "gpu", UUID: string(deviceUUID(card))})
	}
	o.Slices = []workload.Slice{slice}
	claims := map[string]*workload.Claim{}
	for _, p := range w.pods {
		pod := workload.Pod{Namespace: "ns", Name: p.name, UID: p.uid(), Phase: workload.PhaseRunning}
		if p.ended {
			pod.Phase = workload.PhaseSucceeded
		}
		asked := map[string]int64{}
		switch p.how {
		case "hami":
			for card, gib := range p.given {
				pod.Annotations = map[string]string{workload.AnnotationHAMiAllocated: fmt.Sprintf("%s,NVIDIA,%d,0:;", deviceUUID(card), gib<<10)}
			}
			asked["nvidia.com/gpu"], asked["nvidia.com/gpumem"] = 1, 8<<10
		case "plugin":
			asked["nvidia.com/gpu"] = 1
		case "leak": // says that everything is its own
			pod.Annotations = map[string]string{workload.AnnotationHAMiAllocated: string(deviceUUID(0)) + ",NVIDIA,81920,0:;", "gpu-fraction": "0.5"}
			pod.Labels = map[string]string{"runai-gpu-group": "g"}
		case "claim", "shared", "admin":
			w.object(p, claims)
		}
		pod.Containers = []workload.Container{{Name: "c", Limits: asked}}
		o.Pods = append(o.Pods, pod)
	}
	for _, name := range slices.Sorted(maps.Keys(claims)) {
		o.Claims = append(o.Claims, *claims[name])
	}
	return o
}

// object adds the pod to its claim's object.
func (w *world) object(p *tenant, claims map[string]*workload.Claim) {
	if p.ended {
		return
	}
	name, devices := p.claim, []string{p.device}
	if p.how == "admin" {
		name, devices = "of-"+p.name, nil
		for card := range w.cards {
			devices = append(devices, fmt.Sprintf("gpu-%d", card))
		}
	}
	c := claims[name]
	if c == nil {
		c = &workload.Claim{Namespace: "ns", Name: name, UID: fmt.Sprintf("claim-%d", p.made), Allocated: true}
		for _, d := range devices {
			c.Results = append(c.Results, workload.ClaimResult{Driver: "gpu.nvidia.com", Pool: "n", Device: d, AdminAccess: p.how == "admin"})
		}
		claims[name] = c
	}
	c.Reserved = append(c.Reserved, workload.ClaimConsumer{Pod: p.name, UID: p.uid()})
}
