// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/gputally/gputally/internal/core/sample"

// The engines, as they stand in records and annotations.
const (
	VLLM     = "vllm"
	SGLang   = "sglang"
	TensorRT = "tensorrt-llm"
	Triton   = "triton"
	TGI      = "tgi"
	Ollama   = "ollama"
)

// Engines lists them.
func Engines() []string { return []string{VLLM, SGLang, TensorRT, Triton, TGI, Ollama} }

// dialect is how one engine speaks. Names stand newest first: of several that
// mean the same, the first that is on the page is read.
type dialect struct {
	engine string
	// marks are the names by one of which the engine is known.
	marks                                               []string
	use, running, waiting, preemptions, hits, queries   []string
	hitRate, poolTokens, blocks, perBlock, requestLimit []string
	// poolGB is the pool in units of 10^9 bytes.
	poolGB []string
	// generated are tokens that were generated: the work that was done.
	generated []string
	// paused are requests that lost their memory and wait for it again.
	paused []string
	// more reads what is no plain value.
	more func(Page, *sample.EngineReading)
}

// dialects are tried in this order: Triton serves TensorRT-LLM as well as
// others, and its own names are on the page in both cases.
var dialects = []dialect{vllm, sglang, tensorRT, tritonTensorRT, triton, tgi}

// vLLM. The names changed with its second engine (V1) and once more in 0.9 and
// 0.10; kv_cache_size_tokens and kv_cache_max_concurrency came in 2026.
var vllm = dialect{
	engine:      VLLM,
	marks:       []string{"vllm:num_requests_running", "vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
	use:         []string{"vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"},
	running:     []string{"vllm:num_requests_running"},
	waiting:     []string{"vllm:num_requests_waiting"},
	preemptions: []string{"vllm:num_preemptions_total"},
	hits:        []string{"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
	queries:     []string{"vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"},
	hitRate:     []string{"vllm:gpu_prefix_cache_hit_rate"},
	generated:   []string{"vllm:generation_tokens_total"},
	more:        vllmSettings,
}

const vllmConfig = "vllm:cache_config_info"

var sglang = dialect{
	engine:       SGLang,
	marks:        []string{"sglang:num_running_reqs", "sglang:token_usage"},
	use:          []string{"sglang:token_usage"},
	running:      []string{"sglang:num_running_reqs"},
	waiting:      []string{"sglang:num_queue_reqs"},
	preemptions:  []string{"sglang:num_retracted_requests_total"},
	hitRate:      []string{"sglang:cache_hit_rate"},
	generated:    []string{"sglang:generation_tokens_total"},
	poolTokens:   []string{"sglang:max_total_num_tokens"},
	poolGB:       []string{"sglang:kv_cache_memory_usage_gb"},
	requestLimit: []string{"sglang:context_len"},
}

// TensorRT-LLM by itself (trtllm-serve), and through Dynamo, which once wrote
// the prefix with a colon.
var tensorRT = dialect{
	engine:   TensorRT,
	marks:    []string{"trtllm_kv_cache_utilization", "trtllm:kv_cache_utilization", "trtllm_num_requests_running"},
	use:      []string{"trtllm_kv_cache_utilization", "trtllm:kv_cache_utilization"},
	running:  []string{"trtllm_num_requests_running", "trtllm:num_requests_running"},
	waiting:  []string{"trtllm_num_requests_waiting", "trtllm:num_requests_waiting"},
	paused:   []string{"trtllm_num_paused_requests", "trtllm:num_paused_requests"},
	hitRate:  []string{"trtllm_kv_cache_hit_rate", "trtllm:kv_cache_hit_rate"},
	blocks:   []string{"trtllm_kv_cache_max_blocks", "trtllm:kv_cache_max_blocks"},
	perBlock: []string{"trtllm_kv_cache_tokens_per_block", "trtllm:kv_cache_tokens_per_block"},
	more:     tensorRTSettings,
}

const tensorRTConfig = "trtllm_kv_cache_config_info"

// TensorRT-LLM inside Triton: figures are told apart by a label.
var tritonTensorRT = dialect{
	engine: TensorRT,
	marks:  []string{tritonBlocks},
	more:   tritonBackend,
}

const (
	tritonBlocks   = "nv_trt_llm_kv_cache_block_metrics"
	tritonRequests = "nv_trt_llm_request_metrics"
	tritonBatcher  = "nv_trt_llm_inflight_batcher_metrics"
)

// Triton with other backends. nv_gpu_memory_used_bytes is not read: it is the
// device's, whoever holds it.
var triton = dialect{
	engine:  Triton,
	marks:   []string{"nv_inference_count", "nv_inference_request_success"},
	waiting: []string{"nv_inference_pending_request_count"},
}

var tgi = dialect{
	engine:  TGI,
	marks:   []string{"tgi_queue_size", "tgi_batch_current_size"},
	running: []string{"tgi_batch_current_size"},
	waiting: []string{"tgi_queue_size"},
}

// wanted is every name that any dialect looks at.
var wanted = func() map[string]bool {
	out := map[string]bool{vllmConfig: true, tensorRTConfig: true, tritonBlocks: true, tritonRequests: true, tritonBatcher: true}
	for _, d := range dialects {
		for _, names := range [][]string{d.marks, d.use, d.running, d.waiting, d.preemptions, d.hits, d.queries, d.hitRate,
			d.poolTokens, d.blocks, d.perBlock, d.requestLimit, d.poolGB, d.paused, d.generated} {
			for _, name := range names {
				out[name] = true
			}
		}
	}
	return out
}()

// Wanted reports whether a metric of this name is looked at.
func Wanted(name string) bool { return wanted[name] }
