// SPDX-License-Identifier: Apache-2.0

package history

import (
	"time"

	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// claimedGPU is handed out by DRA, fractionGPU in fractions by KAI.
const claimedGPU, fractionGPU = 2, 3

// mixing is the rack's node: every other way to share, and every kind of mishap.
func mixing(s *script) {
	s.logger()
	s.served()
	s.sweeps()
	s.fractions()
	s.preallocated()
	s.rendering()
	s.transcoding()
	s.diffusion()
	night := s.on(cordonDay).at(20, 0)
	s.cordons = append(s.cordons, span{night, night.Add(10 * time.Hour)})
}

// lostFrom and lostTo are the days on which a GPU is off the bus, cordonDay the
// night in which the node is cordoned, serverDay when MPS has no server.
const lostFrom, lostTo, cordonDay, serverDay = 17, 19, 24, 23

// served are two GPUs under MPS: the device plugin's server and four clients. One
// night the server is away for two hours.
func (s *script) served() {
	away := span{s.on(serverDay).at(3, 0), s.on(serverDay).at(5, 0)}
	s.broken = append(s.broken, away)
	stretches := []span{{s.from.AddDate(0, 0, -1), away.from}, {away.to, s.to.Add(time.Hour)}}
	daemon := tenant{namespace: "nvidia-device-plugin", owner: owner("DaemonSet", "mps-control-daemon"), cores: 1, memory: gib, busy: 10,
		labels: map[string]string{"app.kubernetes.io/name": "nvidia-device-plugin", "team": "platform"}}
	clients := []struct{ name, hash, team string }{
		{"embedder", "5d8f6c9b7", "search"}, {"reranker", "7b6f5d4c3", "search"}, {"asr", "6f7c8d9b5", "speech"}, {"tts", "59c7d8f6b", "speech"},
	}
	for _, at := range stretches {
		if !at.from.Before(at.to) {
			continue
		}
		server := size{base: 30 * mib}
		s.run(daemon, "mps-control-daemon-"+s.suffix(), at.from, at.to, s.taken(0, "nvidia-cuda-mps-server", server, 0), s.taken(1, "nvidia-cuda-mps-server", server, 0))
		for i, c := range clients {
			t := service("inference", owner("Deployment", c.name), map[string]string{"team": c.team, "project": "serving", "cost-center": "CC-3002"}, 4, 24*gib)
			u := s.turn(i/2, i%2, "python3", size{base: uint64(9+2*i) * gib, swing: 3 * gib, period: 24 * time.Hour}, 0.25)
			u.kind = sample.KindMPS
			s.run(t, c.name+"-"+c.hash+"-"+s.suffix(), at.from, at.to, u)
		}
	}
}

// sweeps are three pods that have one GPU together, by one ResourceClaim.
func (s *script) sweeps() {
	const claim, driverName, device = "shared-h100", "gpu.nvidia.com", "gpu-2"
	size80 := s.node.GPUs[claimedGPU].Total
	s.slices = []workload.Slice{{
		Name: NodeRack + "-gpu.nvidia.com-8kx2v", Driver: driverName, Pool: NodeRack, Generation: 1, Node: NodeRack,
		Devices: []workload.SliceDevice{{Name: device, Type: workload.DRAGPU, UUID: string(s.node.GPUs[claimedGPU].UUID), Product: s.node.GPUs[claimedGPU].Model, MemoryBytes: &size80}},
	}}
	s.claims = []workload.Claim{{
		Namespace: "research", Name: claim, UID: "c1a1c1a1-0000-4000-8000-000000000001", Allocated: true,
		Requests: []workload.ClaimRequest{{Name: "gpu"}}, Results: []workload.ClaimResult{{Request: "gpu", Driver: driverName, Pool: NodeRack, Device: device}},
	}}
	given := workload.ClaimDevices{Namespace: "research", Name: claim, Devices: []workload.ClaimDevice{{Driver: driverName, Pool: NodeRack, Device: device}}}
	for _, d := range s.days() {
		if d.weekend() {
			continue
		}
		for i, name := range []string{"sweep-0", "sweep-1", "sweep-2"} {
			t := job("research", "sweep", map[string]string{"team": "research", "project": "sweeps", "cost-center": "CC-2002"}, 6, 40*gib)
			st := s.run(t, name, d.at(9, 0), d.at(20, 30).Add(s.around(0, time.Hour)),
				s.taken(claimedGPU, "python3", size{base: uint64(9+8*i) * gib, swing: 5 * gib, period: 2 * time.Hour}, 0.3))
			st.pod.ClaimNames, st.claim = []string{claim}, claim
			st.listed = &workload.PodResources{Namespace: "research", Name: name, Containers: []workload.ContainerResources{{Name: "main", Dynamic: []workload.ClaimDevices{given}}}}
		}
	}
}

// fractions are halves and quarters of a GPU that KAI gives out: on paper a pod of
// its own holds the GPU while they run.
func (s *script) fractions() {
	const group = "vision-0"
	labels := map[string]string{workload.LabelKAIGroup: group, "team": "vision", "project": "inspection", "cost-center": "CC-5005"}
	for _, d := range s.days() {
		if d.weekend() {
			continue
		}
		from, to := d.at(7, 30), d.at(21, 0)
		paper := tenant{namespace: "kai-resource-reservation", labels: map[string]string{workload.LabelKAIGroup: group}, cores: 1, memory: gib, busy: 1,
			annotations: map[string]string{workload.AnnotationKAIReserved: string(s.node.GPUs[fractionGPU].UUID)}}
		s.run(paper, "gpu-reservation-"+NodeRack+"-"+s.suffix(), from, to, s.whole(fractionGPU, "", size{}, 0))
		for i, w := range []struct{ name, fraction string }{{"detector-train", "0.5"}, {"detector-eval", "0.25"}} {
			t := job("vision", w.name, labels, 8, 48*gib)
			t.scheduler, t.annotations = "kai-scheduler", map[string]string{workload.AnnotationKAIFraction: w.fraction}
			s.run(t, w.name+"-0", from, to, s.taken(fractionGPU, "python3", size{base: uint64(28-14*i) * gib, swing: 5 * gib, period: 3 * time.Hour}, 0.4))
		}
	}
}

// preallocated is a vLLM that took 90 % of its GPU at the start, whatever it needs.
func (s *script) preallocated() {
	t := service("inference", owner("StatefulSet", "vllm-mistral"), map[string]string{"team": "assistants", "project": "mistral", "cost-center": "CC-3001"}, 16, 128*gib)
	s.run(t, "vllm-mistral-0", s.from.AddDate(0, 0, -1), s.to.Add(time.Hour), s.whole(4, "vllm", size{base: h100.total / mib * 9 / 10 * mib}, 0.22))
}

// rendering is a pod whose size the driver does not tell, on a GPU that counts
// 700 MiB more than anybody shows. When nobody renders, they remain.
func (s *script) rendering() {
	t := service("render", owner("Deployment", "blender"), nil, 8, 32*gib)
	for i, d := range s.days() {
		if i%7 == 5 {
			continue
		}
		end := d.at(22, 0)
		s.run(t, "blender-0", d.at(7, 15), end, s.whole(5, "blender", size{base: 5 * gib, unknown: true}, 0.55))
		s.extras = append(s.extras, extra{span{end, day{d.AddDate(0, 0, 1)}.at(7, 15)}, 5, 700 * mib})
	}
}

// transcoding is a service of the host at night, beside simulations that have
// their GPU whole.
func (s *script) transcoding() {
	t := job("physics", "lattice-qcd", map[string]string{"team": "physics", "project": "qcd", "cost-center": "CC-6006"}, 16, 64*gib)
	for i, d := range s.days() {
		pid := int(s.next())
		s.hosts = append(s.hosts, hostProcess{span{d.at(20, 40), day{d.AddDate(0, 0, 1)}.at(5, 30)}, "video-transcode.service", process{
			pid: pid, gpu: 6, kind: sample.KindCompute, comm: "ffmpeg", size: size{base: 2300 * mib}, sm: 0.18, start: uint64(pid) * 97,
		}})
		if i%3 == 0 {
			at := d.at(12, 5).Add(s.around(0, 2*time.Hour))
			s.run(t, "lattice-qcd-0", at, at.Add(s.around(50*time.Hour, 8*time.Hour)), s.whole(6, "qcd", size{base: 58 * gib}, 0.93))
		}
	}
}

// diffusion trains on a GPU that falls off the bus, and again once it is back.
func (s *script) diffusion() {
	lost := span{s.on(lostFrom).at(9, 41), s.on(lostTo).at(15, 5)}
	s.troubles = append(s.troubles, trouble{lost, 7, gpu.StateLost, "NVML: GPU is lost", 79})
	t := job("train", "diffusion", map[string]string{"team": "media", "project": "diffusion", "cost-center": "CC-7007"}, 12, 96*gib)
	for _, at := range []span{{s.from.AddDate(0, 0, -1), lost.from}, {lost.to.Add(25 * time.Minute), s.to.Add(time.Hour)}} {
		if at.from.Before(at.to) {
			s.run(t, "diffusion-0", at.from, at.to, s.whole(7, "python3", size{base: 61 * gib, swing: 9 * gib, period: 4 * time.Hour}, 0.88))
		}
	}
}
