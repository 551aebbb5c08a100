// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"slices"

	"github.com/gputally/gputally/internal/core/sample"
)

// OllamaModel is one model that Ollama has loaded, by its /api/ps.
type OllamaModel struct {
	Name string
	// VRAM is the part of it in device memory, bytes.
	VRAM uint64
}

// ReadOllama tells what its list of loaded models says. It has no pool: what a
// model holds is what it needs, and it unloads by itself.
func ReadOllama(models []OllamaModel) sample.EngineReading {
	r := sample.EngineReading{Engine: Ollama, LoadedBytes: new(uint64), Models: int64(len(models))}
	var names []string
	for _, m := range models {
		if *r.LoadedBytes += m.VRAM; *r.LoadedBytes < m.VRAM || *r.LoadedBytes > maxExact {
			r.LoadedBytes = nil // no device has that much: nothing it says counts
			return r
		}
		names = append(names, clean(m.Name))
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == 1 {
		r.Model = names[0]
	}
	return r
}
