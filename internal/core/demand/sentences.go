// SPDX-License-Identifier: Apache-2.0

package demand

import "github.com/gputally/gputally/internal/core/wording"

// Sentences are what refusals are written in, by code, with {gaps}.
var Sentences = map[string]string{
	"engine_memory":      "what the engine says of its memory",
	"annotate_engine":    "annotate the pod with " + AnnotationScrape + ": the engine's name",
	"triton_memory":      "how much of the memory its backend took is used: Triton's own gauge of memory is the device's",
	"triton_backends":    "the TensorRT-LLM and vLLM backends tell; for others, see what they allocate",
	"pool_untold":        "how much of its pool {engine} uses: it does not tell",
	"try_pool":           "try a smaller pool for a day, and watch its queue and its latency",
	"pool_share":         "how much of the pool is used",
	"serve_metrics":      "let {engine} serve its metrics, and see that they are the page that is asked",
	"pool_bytes":         "the size of the pool in bytes",
	"write_pool":         "write it from the engine's log into the annotation " + AnnotationPoolBytes + ", or start vLLM with --kv-cache-memory-bytes",
	"pool_fits":          "a pool that fits: it has {pool} bytes and {held} are held",
	"correct_pool":       "correct " + AnnotationPoolBytes + ": it is the pool of one rank",
	"pool_tokens":        "the size of the pool in tokens",
	"newer_engine":       "a newer {engine} tells it",
	"longest_request":    "the longest request, for which there must be room",
	"write_length":       "write the model's greatest length into the annotation " + AnnotationRequestTokens,
	"engine_answered":    "time in which the engine answered: {n} of {of} s",
	"engine_problem":     "see gputally_engine_problem on the agent for why it did not",
	"one_setting":        "one model and one setting in all of the time",
	"ask_since":          "ask again for the time since the change",
	"hit_rate":           "the hit rate of the prefix cache",
	"cache_needs":        "what the prefix cache needs: {percent} % of its queries hit, and usage does not count it",
	"try_less":           "try 20 % less pool for a day, and watch time to first token",
	"pool_peaks":         "the pool is too small at peaks: add a replica or memory",
	"requests_waited":    "whether requests waited",
	"without_waiting":    "time without waiting: in {n} of {of} looks requests waited",
	"requests_preempted": "whether requests were preempted",
	"without_preemption": "time without preemption: {n} requests lost their memory",
}

var say = wording.New(Sentences).Say
