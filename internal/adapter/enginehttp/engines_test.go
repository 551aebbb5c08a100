// SPDX-License-Identifier: Apache-2.0

package enginehttp

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/internal/core/sample"
)

func p[T any](v T) *T { return &v }

// local is a Scraper that may ask this machine.
func local(opts Options) *Scraper {
	s := New(opts)
	s.mayAsk = func(netip.Addr) bool { return true }
	return s
}

// targetOf is the target of a server of this test.
func targetOf(t testing.TB, server *httptest.Server, engine, path string) demand.Target {
	t.Helper()
	at, err := netip.ParseAddrPort(strings.TrimPrefix(server.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return demand.Target{PodUID: "u", IP: at.Addr().String(), Port: at.Port(), Path: path, Engine: engine}
}

// serve is a server that speaks as an engine does: its page at its path, and
// nothing elsewhere.
func serve(t testing.TB, file, path string) *httptest.Server {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	kind := "text/plain; version=0.0.4; charset=utf-8"
	if strings.HasSuffix(file, ".json") {
		kind = "application/json; charset=utf-8"
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != path || r.Method != http.MethodGet {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(body)
	}))
	t.Cleanup(server.Close)
	return server
}

// TestEngines: what each engine serves, by its names of old and of today.
func TestEngines(t *testing.T) {
	for _, c := range []struct {
		file, engine, path string
		want               sample.EngineReading
	}{
		{"vllm-2026.txt", demand.VLLM, "/metrics", sample.EngineReading{Engine: demand.VLLM, Model: "meta/llama-8b", Models: 1, Pools: 1, PoolUse: p(0.21875),
			PoolTokens: p(uint64(454_000)), RequestTokens: p(uint64(8192)), MemoryFraction: p(0.92), Waiting: p(uint64(1)), Running: p(uint64(7)),
			Preemptions: p(uint64(3)), PrefixHits: p(uint64(1000)), PrefixQueries: p(uint64(20_000))}},
		{"vllm-0.8.txt", "", "/metrics", sample.EngineReading{Engine: demand.VLLM, Model: "meta/llama-8b", Models: 1, Pools: 1, PoolUse: p(0.21875),
			PoolTokens: p(uint64(454_000)), MemoryFraction: p(0.92), Waiting: p(uint64(1)), Running: p(uint64(7)),
			Preemptions: p(uint64(3)), PrefixHits: p(uint64(1000)), PrefixQueries: p(uint64(20_000))}},
		{"vllm-0.6.txt", "", "/metrics", sample.EngineReading{Engine: demand.VLLM, Model: "meta/llama-8b", Models: 1, Pools: 1, PoolUse: p(0.125),
			PoolTokens: p(uint64(16_000)), MemoryFraction: p(0.9), Waiting: p(uint64(0)), Running: p(uint64(2)), Preemptions: p(uint64(0))}},
		{"sglang-2026.txt", demand.SGLang, "/metrics", sample.EngineReading{Engine: demand.SGLang, Model: "meta/llama-8b", Models: 1, Pools: 1, PoolUse: p(0.3),
			PoolTokens: p(uint64(161_721)), PoolBytes: p(uint64(19_750_000_000)), RequestTokens: p(uint64(8192)), Waiting: p(uint64(0)), Running: p(uint64(5)),
			Preemptions: p(uint64(2)), PrefixHitRate: p(0.05)}},
		{"sglang-0.4.txt", "", "/metrics", sample.EngineReading{Engine: demand.SGLang, Model: "meta/llama-8b", Models: 1, Pools: 1, PoolUse: p(0.28),
			Waiting: p(uint64(0)), Running: p(uint64(5)), PrefixHitRate: p(0.0075)}},
		{"trtllm-2026.txt", demand.TensorRT, "/prometheus/metrics", sample.EngineReading{Engine: demand.TensorRT, Model: "llama", Models: 1, Pools: 1, PoolUse: p(0.5),
			PoolTokens: p(uint64(399_296)), MemoryFraction: p(0.9), Waiting: p(uint64(0)), Running: p(uint64(4)), PrefixHitRate: p(0.125), Pauses: true}},
		{"trtllm-1.1.txt", "", "/prometheus/metrics", sample.EngineReading{Engine: demand.TensorRT, Model: "llama", Models: 1, Pools: 1, PoolUse: p(0.25), PrefixHitRate: p(0.0), Pauses: true}},
		{"triton-trtllm.txt", demand.Triton, "/metrics", sample.EngineReading{Engine: demand.TensorRT, Model: "tensorrt_llm", Models: 1, Pools: 1, PoolUse: p(0.25),
			PoolTokens: p(uint64(399_360)), Waiting: p(uint64(3)), Running: p(uint64(3)), Pauses: true}},
		{"triton.txt", demand.Triton, "/metrics", sample.EngineReading{Engine: demand.Triton, Model: "resnet", Models: 1, Waiting: p(uint64(3))}},
		{"tgi.txt", demand.TGI, "/metrics", sample.EngineReading{Engine: demand.TGI, Waiting: p(uint64(5)), Running: p(uint64(8))}},
		{"ollama.json", demand.Ollama, "/api/ps", sample.EngineReading{Engine: demand.Ollama, Models: 2, LoadedBytes: p(uint64(7_654_289_920))}},
	} {
		target := targetOf(t, serve(t, c.file, c.path), c.engine, c.path)
		got, err := local(Options{}).fetch(context.Background(), &target)
		if err != nil {
			t.Errorf("%s: %v", c.file, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.file, diff)
		}
	}
}

// TestNothingOfAPageIsKeptButFigures: labels that nobody asked for are gone before
// anything sees them.
func TestNothingOfAPageIsKeptButFigures(t *testing.T) {
	page, err := parse([]byte(`vllm:num_requests_running{model_name="m",prompt="my secret",engine="0"} 1` + "\n" + `secret_total{token="abc"} 1` + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := demand.Page{"vllm:num_requests_running": {{Labels: map[string]string{"model_name": "m", "engine": "0"}, Value: 1}}}
	if diff := cmp.Diff(want, page); diff != "" {
		t.Error(diff)
	}
}
