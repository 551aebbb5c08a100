// SPDX-License-Identifier: Apache-2.0

package history

import (
	"fmt"
	"time"

	"github.com/gputally/gputally/internal/core/workload"
)

// training is the p4d: whole GPUs for pretraining, for reinforcement learning and
// for evaluations by day. Its nights and weekends are quiet, and for three days a
// pod without a grant sits on two GPUs.
func training(s *script) {
	s.logger()
	s.pretraining()
	s.reinforcement()
	s.evaluations()
	s.smokeTests()
	s.leak()
}

// logger is the pod of a DaemonSet: some CPU, some memory, no GPU.
func (s *script) logger() {
	t := tenant{namespace: "observability", owner: owner("DaemonSet", "node-logger"), cores: 1, memory: 2 * gib, busy: 40,
		labels: map[string]string{"app.kubernetes.io/name": "node-logger", "team": "platform"}}
	s.run(t, "node-logger-"+s.suffix(), s.from.AddDate(0, 0, -1), s.to.Add(time.Hour))
}

// pretraining has four GPUs from Monday to Friday night. On Wednesdays it begins
// again from its checkpoint.
func (s *script) pretraining() {
	t := tenant{namespace: "train", owner: owner("PyTorchJob", "llama-pretrain"), cores: 60, memory: 720 * gib, busy: 70,
		labels: map[string]string{"team": "foundation-models", "project": "llama-next", "cost-center": "CC-1001"}}
	put := func(from, to time.Time) {
		var uses []use
		for g := range 4 {
			uses = append(uses, s.whole(g, "python3", size{base: 35 * gib, swing: 2 * gib, period: 70 * time.Minute}, 0.96))
		}
		s.run(t, "llama-pretrain-0", from, to, uses...)
	}
	for _, d := range s.days() {
		if d.Weekday() == time.Monday {
			pause := day{d.AddDate(0, 0, 2)}.at(11, 20)
			put(d.at(6, 4), pause)
			put(pause.Add(s.around(40*time.Minute, 20*time.Minute)), day{d.AddDate(0, 0, 4)}.at(22, 30))
		}
	}
}

// reinforcement has two GPUs for runs of one to three days, one after the other.
func (s *script) reinforcement() {
	t := tenant{namespace: "train", owner: owner("Job", "rlhf-ppo"), cores: 20, memory: 220 * gib, busy: 55,
		labels: map[string]string{"team": "alignment", "project": "assistant", "cost-center": "CC-1002"}}
	for at := s.on(-2).at(9, 17); at.Before(s.to); {
		end := at.Add(s.around(40*time.Hour, 18*time.Hour))
		s.run(t, "rlhf-ppo-0", at, end,
			s.whole(4, "python3", size{base: 28 * gib, swing: 6 * gib, period: 3 * time.Hour}, 0.74),
			s.whole(5, "python3", size{base: 31 * gib, swing: 4 * gib, period: 3 * time.Hour}, 0.71))
		at = end.Add(s.around(14*time.Hour, 9*time.Hour))
	}
}

// evaluations follow each other on one GPU by day.
func (s *script) evaluations() {
	suites := []string{"mmlu", "gsm8k", "humaneval", "mtbench"}
	for i, d := range s.days() {
		if d.weekend() {
			continue
		}
		for at := d.at(8, 10).Add(s.around(15*time.Minute, 15*time.Minute)); at.Before(d.at(18, 0)); {
			suite := suites[(i+7+at.Hour())%len(suites)]
			t := tenant{namespace: "research", owner: owner("Job", "eval-"+suite), cores: 10, memory: 96 * gib, busy: 50,
				labels: map[string]string{"team": "research", "project": "evals", "cost-center": "CC-2002"}}
			end := at.Add(s.around(100*time.Minute, 55*time.Minute))
			s.run(t, "eval-"+suite+"-0", at, end, s.whole(6, "python3", size{base: 26 * gib, swing: 3 * gib, period: 40 * time.Minute}, 0.6))
			at = end.Add(s.around(30*time.Minute, 25*time.Minute))
		}
	}
}

// smokeTests need a GPU for half an hour now and then. Nobody says whose they are.
func (s *script) smokeTests() {
	for _, d := range s.days() {
		if d.weekend() || !s.chance(70) {
			continue
		}
		t := tenant{namespace: "qa", owner: owner("Job", "smoke-test"), cores: 4, memory: 16 * gib, busy: 30}
		at := d.at(13, 0).Add(s.around(time.Hour, 50*time.Minute))
		s.run(t, "smoke-test-"+s.suffix(), at, at.Add(s.around(35*time.Minute, 15*time.Minute)),
			s.whole(7, "cuda-smoke", size{base: 3 * gib}, 0.2))
	}
}

// leakDays are those of the leak.
const leakFrom, leakTo = 9, 12

// leak is a notebook whose image asks for all GPUs and was given none. It takes
// memory of a GPU that evaluations have, and of one that is idle.
func (s *script) leak() {
	t := tenant{namespace: "ml", owner: owner("Deployment", "notebook-all-gpus"), cores: 2, memory: 16 * gib, busy: 20,
		labels: map[string]string{"team": "growth"}, env: map[string]string{"NVIDIA_VISIBLE_DEVICES": "all"}}
	s.run(t, fmt.Sprintf("notebook-all-gpus-6c9f7d5b8-%s", s.suffix()), s.on(leakFrom).at(10, 2), s.on(leakTo).at(16, 31),
		s.taken(6, "python3", size{base: 9 * gib}, 0.13), s.taken(7, "python3", size{base: 3 * gib, swing: 2 * gib, period: 5 * time.Hour}, 0.05))
}

// team is the labels of a team's pods; "" is none.
func team(name, project string) map[string]string {
	if name == "" {
		return nil
	}
	return map[string]string{"team": name, "project": project}
}

// job is a workload of kind Job.
func job(namespace, name string, labels map[string]string, cores int64, memory uint64) tenant {
	return tenant{namespace: namespace, owner: owner("Job", name), labels: labels, cores: cores, memory: memory, busy: 60}
}

// service is a workload of kind Deployment or StatefulSet.
func service(namespace string, o workload.Owner, labels map[string]string, cores int64, memory uint64) tenant {
	return tenant{namespace: namespace, owner: o, labels: labels, cores: cores, memory: memory, busy: 45}
}
