// SPDX-License-Identifier: Apache-2.0

package promexport

import "github.com/gputally/gputally/internal/core/attribution"

// engines shows the last look at each inference engine.
func (o out) engines(looks []attribution.Engine) {
	for i := range looks {
		e := &looks[i]
		at := []string{e.Holder.Namespace, e.Holder.Pod, e.Holder.Container, e.Holder.PodUID}
		if e.Problem != "" {
			o.put(engineProblem, 1, append(at, e.Problem)...)
			continue
		}
		r := &e.Reading
		o.put(engineInfo, 1, append(at, r.Engine, r.Model)...)
		known(o, enginePoolUse, r.PoolUse, 1, at...)
		known(o, enginePoolBytes, r.PoolBytes, 1, at...)
		known(o, enginePoolTokens, r.PoolTokens, 1, at...)
		known(o, engineLoaded, r.LoadedBytes, 1, at...)
		known(o, engineRequests, r.Running, 1, append(at, "running")...)
		known(o, engineRequests, r.Waiting, 1, append(at, "waiting")...)
		known(o, enginePreemptions, r.Preemptions, 1, at...)
		known(o, enginePrefixHits, r.PrefixHits, 1, at...)
		known(o, enginePrefixQueries, r.PrefixQueries, 1, at...)
		known(o, enginePrefixRate, r.PrefixHitRate, 1, at...)
	}
}
