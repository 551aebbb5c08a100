// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/sample"
)

// page reads lines of `name key=value … value` into a page, as an adapter does.
func page(t *testing.T, text string) Page {
	t.Helper()
	out := Page{}
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 0 || !Wanted(words[0]) {
			continue
		}
		v, err := strconv.ParseFloat(words[len(words)-1], 64)
		if err != nil {
			t.Fatal(err)
		}
		s := Series{Labels: map[string]string{}, Value: v}
		for _, w := range words[1 : len(words)-1] {
			key, value, _ := strings.Cut(w, "=")
			if value, ok := KeepLabel(key, value); ok {
				s.Labels[key] = value
			}
		}
		out[words[0]] = append(out[words[0]], s)
	}
	return out
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       sample.EngineReading
	}{
		{"vLLM of 2026, two ranks", `
			vllm:num_requests_running engine=0 model_name=m 3
			vllm:num_requests_running engine=1 model_name=m 4
			vllm:num_requests_waiting engine=0 model_name=m 0
			vllm:num_requests_waiting engine=1 model_name=m 2
			vllm:kv_cache_usage_perc engine=0 model_name=m 0.25
			vllm:kv_cache_usage_perc engine=1 model_name=m 0.5
			vllm:num_preemptions_total engine=0 model_name=m 1
			vllm:num_preemptions_total engine=1 model_name=m 2
			vllm:prefix_cache_queries_total engine=0 model_name=m 100
			vllm:prefix_cache_hits_total engine=0 model_name=m 40
			vllm:generation_tokens_total engine=0 model_name=m 7000
			vllm:generation_tokens_total engine=1 model_name=m 8000
			vllm:cache_config_info block_size=16 num_gpu_blocks=1000 kv_cache_size_tokens=15000 kv_cache_max_concurrency=2.0 kv_cache_memory_bytes=None gpu_memory_utilization=0.92 engine=0 1
			vllm:cache_config_info block_size=16 num_gpu_blocks=1000 kv_cache_size_tokens=14000 kv_cache_max_concurrency=1.75 kv_cache_memory_bytes=2000000 gpu_memory_utilization=0.92 engine=1 1`,
			sample.EngineReading{Engine: VLLM, Model: "m", Models: 1, Pools: 2, PoolUse: p(0.5), PoolTokens: p(uint64(14000)), PoolBytes: p(uint64(2_000_000)),
				RequestTokens: p(uint64(8000)), MemoryFraction: p(0.92), Waiting: p(uint64(2)), Running: p(uint64(7)), Preemptions: p(uint64(3)),
				PrefixHits: p(uint64(40)), PrefixQueries: p(uint64(100)), Generated: p(uint64(15_000))}},
		{"vLLM before 0.8", `
			vllm:num_requests_running model_name=m 3
			vllm:num_requests_waiting model_name=m 0
			vllm:gpu_cache_usage_perc model_name=m 0.125
			vllm:gpu_prefix_cache_hit_rate model_name=m -1
			vllm:cache_config_info block_size=16 num_gpu_blocks=24188 gpu_memory_utilization=0.9 1`,
			sample.EngineReading{Engine: VLLM, Model: "m", Models: 1, Pools: 1, PoolUse: p(0.125), PoolTokens: p(uint64(387_008)), MemoryFraction: p(0.9),
				Waiting: p(uint64(0)), Running: p(uint64(3))}},
		{"both names on one page: the new one counts", `
			vllm:kv_cache_usage_perc 0.5
			vllm:gpu_cache_usage_perc 0.25`,
			sample.EngineReading{Engine: VLLM, Pools: 1, PoolUse: p(0.5)}},
		{"SGLang, all tensor-parallel ranks tell", `
			sglang:num_running_reqs model_name=m tp_rank=0 2
			sglang:num_running_reqs model_name=m tp_rank=1 2
			sglang:num_queue_reqs model_name=m tp_rank=0 0
			sglang:token_usage model_name=m tp_rank=0 0.28
			sglang:token_usage model_name=m tp_rank=1 0.28
			sglang:cache_hit_rate model_name=m tp_rank=0 0.0075
			sglang:num_retracted_reqs model_name=m pid=7 5
			sglang:num_retracted_requests_total model_name=m tp_rank=0 48
			sglang:max_total_num_tokens model_name=m tp_rank=0 161721
			sglang:context_len model_name=m tp_rank=0 8192
			sglang:kv_cache_memory_usage_gb model_name=m tp_rank=0 30.5`,
			sample.EngineReading{Engine: SGLang, Model: "m", Models: 1, Pools: 1, PoolUse: p(0.28), PoolTokens: p(uint64(161_721)), PoolBytes: p(uint64(30_500_000_000)),
				RequestTokens: p(uint64(8192)), Waiting: p(uint64(0)), Running: p(uint64(2)), Preemptions: p(uint64(48)), PrefixHitRate: p(0.0075)}},
		{"TensorRT-LLM, one paused", `
			trtllm_kv_cache_utilization model_name=m engine_type=trtllm 0.5
			trtllm_kv_cache_hit_rate model_name=m 0.1
			trtllm_kv_cache_max_blocks model_name=m 100
			trtllm_kv_cache_tokens_per_block model_name=m 32
			trtllm_num_requests_running model_name=m 4
			trtllm_num_requests_waiting model_name=m 0
			trtllm_num_paused_requests model_name=m 1
			trtllm_kv_cache_config_info free_gpu_memory_fraction=0.9 1`,
			sample.EngineReading{Engine: TensorRT, Model: "m", Models: 1, Pools: 1, PoolUse: p(0.5), PoolTokens: p(uint64(3200)), MemoryFraction: p(0.9),
				Waiting: p(uint64(1)), Running: p(uint64(4)), PrefixHitRate: p(0.1), Pauses: true}},
		{"TensorRT-LLM through Dynamo", "trtllm:kv_cache_utilization 0.5\ntrtllm:num_requests_waiting 3",
			sample.EngineReading{Engine: TensorRT, Pools: 1, PoolUse: p(0.5), Waiting: p(uint64(3)), Pauses: true}},
		{"TensorRT-LLM in Triton", `
			nv_inference_count model=ensemble 7
			nv_trt_llm_request_metrics model=tensorrt_llm request_type=scheduled 2
			nv_trt_llm_request_metrics model=tensorrt_llm request_type=waiting 0
			nv_trt_llm_kv_cache_block_metrics model=tensorrt_llm kv_cache_block_type=tokens_per 64
			nv_trt_llm_kv_cache_block_metrics model=tensorrt_llm kv_cache_block_type=used 100
			nv_trt_llm_kv_cache_block_metrics model=tensorrt_llm kv_cache_block_type=max 400`,
			sample.EngineReading{Engine: TensorRT, Model: "tensorrt_llm", Models: 1, Pools: 1, PoolUse: p(0.25), PoolTokens: p(uint64(25_600)),
				Waiting: p(uint64(0)), Running: p(uint64(2)), Pauses: true}},
		{"Triton", "nv_inference_count model=a 7\nnv_inference_count model=b 9\nnv_inference_pending_request_count model=a 1\nnv_inference_pending_request_count model=b 2\nnv_gpu_memory_used_bytes 5",
			sample.EngineReading{Engine: Triton, Models: 2, Waiting: p(uint64(3))}},
		{"TGI", "tgi_queue_size 5\ntgi_batch_current_size 8\ntgi_batch_current_max_tokens 2048",
			sample.EngineReading{Engine: TGI, Waiting: p(uint64(5)), Running: p(uint64(8))}},
	} {
		got, ok := Read(page(t, c.text))
		if !ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %v\n%+v, want\n%+v", c.name, ok, got, c.want)
		}
	}
	if r, ok := Read(page(t, "go_goroutines 7")); ok {
		t.Errorf("no engine: %+v", r)
	}
}

// TestAbsurdFiguresAreUnknown: what is no share or no count is not cut to one.
func TestAbsurdFiguresAreUnknown(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), -1, 1.5} {
		p := Page{"vllm:kv_cache_usage_perc": {{Value: v}}, "vllm:num_requests_waiting": {{Value: v}}}
		r, _ := Read(p)
		if r.PoolUse != nil || v != 1.5 && r.Waiting != nil {
			t.Errorf("%v: %+v", v, r)
		}
	}
	p := Page{"vllm:num_requests_running": {{}}, "vllm:prefix_cache_hits_total": {{Value: 9}}, "vllm:prefix_cache_queries_total": {{Value: 5}}}
	if r, _ := Read(p); r.PrefixHits != nil || r.PrefixQueries != nil {
		t.Errorf("more hits than queries: %+v", r)
	}
}

func TestReadOllama(t *testing.T) {
	r := ReadOllama([]OllamaModel{{"qwen3:8b", 4_600_000_000}, {"bge", 400_000_000}})
	if *r.LoadedBytes != 5_000_000_000 || r.Models != 2 || r.Model != "" {
		t.Errorf("two models: %+v", r)
	}
	if r = ReadOllama(nil); *r.LoadedBytes != 0 || r.Models != 0 {
		t.Errorf("none: %+v", r)
	}
	if r = ReadOllama([]OllamaModel{{"a", 1 << 63}, {"b", 1 << 63}}); r.LoadedBytes != nil {
		t.Errorf("more than there can be: %d", *r.LoadedBytes)
	}
}

// TestKeepLabel: a tenant's text is kept only under a few names, and bounded.
func TestKeepLabel(t *testing.T) {
	if v, ok := KeepLabel("model_name", "a\x00b\n\u202e"+strings.Repeat("ß", 100)); !ok || len(v) > MaxLabelBytes || strings.ContainsAny(v, "\x00\n\u202e") || !strings.HasPrefix(v, "abß") || !strings.HasSuffix(v, "ß") {
		t.Errorf("%q", v)
	}
	for _, name := range []string{"user", "prompt", "api_key", "le", ""} {
		if _, ok := KeepLabel(name, "x"); ok {
			t.Errorf("label %q is kept", name)
		}
	}
}
