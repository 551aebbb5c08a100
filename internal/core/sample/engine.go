// SPDX-License-Identifier: Apache-2.0

package sample

// Engine is one look at what an inference engine in a pod says of itself. It
// stands in the sample after which it came, and in no other: a look is no value
// that holds.
type Engine struct {
	PodUID string `json:"pod_uid"`
	// Container is the name of the one that holds the pod's GPU; empty where
	// that is several.
	Container string `json:"container,omitempty"`
	// Problem is a word for why nothing was read, empty where something was.
	Problem    string        `json:"problem,omitempty"`
	DurationUS int64         `json:"duration_us"`
	Reading    EngineReading `json:"reading,omitzero"`
}

// EngineReading is what an engine told, nil where it did not. Counts are of all
// of the endpoint's ranks and models together; a pool's figures are of one rank.
type EngineReading struct {
	// Engine is vllm, sglang, tensorrt-llm, triton, tgi or ollama.
	Engine string `json:"engine,omitempty"`
	// Model is the one that is served; empty where there are several, which
	// Models counts.
	Model  string `json:"model,omitempty"`
	Models int64  `json:"models,omitempty"`
	// Pools is how many ranks told of a pool of their own.
	Pools int64 `json:"pools,omitempty"`
	// PoolUse is how much of the pool is in use, 0..1, of the fullest rank.
	// What is kept for reuse alone (the prefix cache) is not in use.
	PoolUse *float64 `json:"pool_use,omitempty"`
	// PoolTokens and PoolBytes are its size, of the smallest rank.
	PoolTokens *uint64 `json:"pool_tokens,omitempty"`
	PoolBytes  *uint64 `json:"pool_bytes,omitempty"`
	// RequestTokens is the longest request that is accepted.
	RequestTokens *uint64 `json:"request_tokens,omitempty"`
	// Declared: an annotation of the pod says PoolBytes or RequestTokens, not
	// the engine.
	Declared bool `json:"declared,omitempty"`
	// MemoryFraction is the setting by which memory is taken, 0..1.
	MemoryFraction *float64 `json:"memory_fraction,omitempty"`
	// LoadedBytes is the device memory of loaded models, where the engine loads
	// and unloads them by itself.
	LoadedBytes *uint64 `json:"loaded_bytes,omitempty"`
	Waiting     *uint64 `json:"waiting,omitempty"`
	Running     *uint64 `json:"running,omitempty"`
	// Preemptions, PrefixHits and PrefixQueries count since the engine began.
	Preemptions   *uint64 `json:"preemptions,omitempty"`
	PrefixHits    *uint64 `json:"prefix_hits,omitempty"`
	PrefixQueries *uint64 `json:"prefix_queries,omitempty"`
	// Generated counts tokens that were generated since the engine began.
	Generated *uint64 `json:"generated_tokens,omitempty"`
	// PrefixHitRate is the engine's own figure of late, 0..1, where it does not
	// count.
	PrefixHitRate *float64 `json:"prefix_hit_rate,omitempty"`
	// Pauses: requests that lost their memory are told as waiting, and no
	// counter of preemptions exists.
	Pauses bool `json:"pauses,omitempty"`
}
