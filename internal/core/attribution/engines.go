// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"slices"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// Engine is a look at an inference engine, with whose it is.
type Engine struct {
	Holder workload.Holder `json:"holder"`
	// Problem is a word for why nothing was read, empty where something was.
	Problem    string               `json:"problem,omitempty"`
	DurationUS int64                `json:"duration_us"`
	Reading    sample.EngineReading `json:"reading,omitzero"`
}

// engines names the pods of the looks. A container that the pod does not have is
// left out.
func (w *work) engines() []Engine {
	var out []Engine
	for _, e := range w.s.Engines {
		h := workload.Holder{Kind: workload.KindPod, PodUID: e.PodUID}
		if pod, ok := w.pods.ByUID(e.PodUID); ok {
			h = podHolder(pod)
			if slices.ContainsFunc(pod.Containers, func(c workload.Container) bool { return c.Name == e.Container }) {
				h.Container = e.Container
			}
		}
		out = append(out, Engine{Holder: h, Problem: e.Problem, DurationUS: e.DurationUS, Reading: e.Reading})
	}
	slices.SortStableFunc(out, func(a, b Engine) int { return a.Holder.Compare(b.Holder) })
	return out
}
