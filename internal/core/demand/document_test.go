// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// sentences are the lines of docs/engines.md that have a figure of a rule.
func sentences(t *testing.T) []string {
	e, h := server()
	d, refusals := Need(e, h)
	if refusals != nil {
		t.Fatalf("the worked example is refused: %+v", refusals)
	}
	g := func(bytes uint64) string { return fmt.Sprintf("%.2f", float64(bytes)/(1<<30)) }
	tokens, _ := e.PoolTokens.one()
	longest, _ := e.RequestTokens.one()
	return []string{
		fmt.Sprintf("cache = the larger of %.2f × the most that was used", Headroom),
		fmt.Sprintf("| `%s` | the engine answered in less than %.0f %% of the time |", Coverage, 100*MinAnswered),
		fmt.Sprintf("| `%s` | a request waited in more than %.1f %% of the looks", Saturated, 100-100*Calm),
		fmt.Sprintf("| `%s` | %.0f %% or more of the prefix cache's queries hit", PrefixCache, 100*HitRateMost),
		fmt.Sprintf("%s GiB, of which it holds %s GiB. Its pool has %s GiB for %d tokens, a request has %d at most, and a day of looks saw %.0f %% used at most.",
			g(h.TotalBytes), g(h.HeldBytes), g(d.PoolBytes), tokens, longest, *e.UseMax*100),
		fmt.Sprintf("none was preempted, %.0f %% of the prefix queries hit", *e.HitRate()*100),
		fmt.Sprintf("fixed = %s − %s = %s GiB", g(h.HeldBytes), g(d.PoolBytes), g(d.FixedBytes)),
		fmt.Sprintf("cache = %.2f × %.2f × %s = %s GiB (one longest request: %s GiB)", Headroom, *e.UseMax, g(d.PoolBytes), g(d.CacheBytes), g(ceilOf(d.PoolBytes, longest, tokens))),
		fmt.Sprintf("need = %s GiB, so --gpu-memory-utilization 0.%02d is enough (%.5f rounded up)", g(d.NeedBytes), d.Hundredths, float64(d.NeedBytes)/float64(h.TotalBytes)),
		fmt.Sprintf("each cut at %d bytes", MaxLabelBytes),
	}
}

// TestDocument: every figure of a rule in docs/engines.md is worked out here, and
// every name that is read stands there.
func TestDocument(t *testing.T) {
	b, err := os.ReadFile("../../../docs/engines.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(b)), " ")
	want := sentences(t)
	for _, engine := range Engines() {
		e := endpoints[engine]
		row := fmt.Sprintf("| `%s` | %d `%s` |", engine, e.port, e.path)
		if e.port == 0 {
			row = fmt.Sprintf("| `%s` | `%s`; the port must be given |", engine, e.path)
		}
		want = append(want, row)
	}
	for _, name := range []string{AnnotationScrape, AnnotationPort, AnnotationPath, AnnotationPoolBytes, AnnotationRequestTokens} {
		want = append(want, "| `"+name+"` |")
	}
	for name := range wanted {
		want = append(want, shortName(name))
	}
	for _, line := range want {
		if !strings.Contains(text, strings.Join(strings.Fields(line), " ")) {
			t.Errorf("docs/engines.md lacks:\n%s", line)
		}
	}
}

// shortName is a metric's name as the document writes it: without what all names
// of the engine begin with.
func shortName(name string) string {
	for _, prefix := range []string{"vllm:gpu_prefix_cache_hits", "vllm:gpu_prefix_cache_queries"} {
		if strings.HasPrefix(name, prefix) {
			return "gpu_prefix_cache_…"
		}
	}
	for _, prefix := range []string{"vllm:", "sglang:", "trtllm_", "trtllm:"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return "`" + rest
		}
	}
	return name
}
