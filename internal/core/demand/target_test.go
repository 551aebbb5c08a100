// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/workload"
)

func annotated(pairs ...string) workload.Pod {
	pod := workload.Pod{Namespace: "ai", Name: "llm-0", UID: "u", IP: "10.0.0.7", Labels: map[string]string{"app": "llm"}, Annotations: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		pod.Annotations[pairs[i]] = pairs[i+1]
	}
	return pod
}

func TestTargetOf(t *testing.T) {
	operator := []Selector{{Engine: SGLang, Port: 9000, Namespace: "ai", Labels: map[string]string{"app": "llm"}}}
	for _, c := range []struct {
		name      string
		pod       workload.Pod
		selectors []Selector
		asked     bool
		want      string // address and path, or the problem
	}{
		{"nothing", annotated(), nil, false, ""},
		{"by name", annotated(AnnotationScrape, VLLM), nil, true, "10.0.0.7:8000/metrics"},
		{"SGLang", annotated(AnnotationScrape, SGLang), nil, true, "10.0.0.7:30000/metrics"},
		{"TensorRT-LLM", annotated(AnnotationScrape, TensorRT), nil, true, "10.0.0.7:8000/prometheus/metrics"},
		{"Triton", annotated(AnnotationScrape, Triton), nil, true, "10.0.0.7:8002/metrics"},
		{"Ollama", annotated(AnnotationScrape, Ollama), nil, true, "10.0.0.7:11434/api/ps"},
		{"another port and path", annotated(AnnotationScrape, VLLM, AnnotationPort, "81", AnnotationPath, "/m"), nil, true, "10.0.0.7:81/m"},
		{"no name", annotated(AnnotationScrape, "true", AnnotationPort, "81"), nil, true, "10.0.0.7:81/metrics"},
		{"no name, no port", annotated(AnnotationScrape, "true"), nil, true, BadAnnotation},
		{"TGI, no port", annotated(AnnotationScrape, TGI), nil, true, BadAnnotation},
		{"no engine", annotated(AnnotationScrape, "vLLM"), nil, true, BadAnnotation},
		{"port 0", annotated(AnnotationScrape, VLLM, AnnotationPort, "0"), nil, true, BadAnnotation},
		{"port of a database", annotated(AnnotationScrape, VLLM, AnnotationPort, "70000"), nil, true, BadAnnotation},
		{"a path that climbs", annotated(AnnotationScrape, VLLM, AnnotationPath, "/../admin"), nil, true, BadAnnotation},
		{"a query", annotated(AnnotationScrape, VLLM, AnnotationPath, "/m?x=1"), nil, true, BadAnnotation},
		{"another host", annotated(AnnotationScrape, VLLM, AnnotationPath, "@10.0.0.1/"), nil, true, BadAnnotation},
		{"a pool that is no number", annotated(AnnotationScrape, VLLM, AnnotationPoolBytes, "50Gi"), nil, true, BadAnnotation},
		{"the operator's", annotated(), operator, true, "10.0.0.7:9000/metrics"},
		{"the operator's, refused by the owner", annotated(AnnotationScrape, "false"), operator, false, ""},
		{"the owner's before the operator's", annotated(AnnotationScrape, VLLM), operator, true, "10.0.0.7:8000/metrics"},
	} {
		got, asked := TargetOf(&c.pod, c.selectors)
		text := got.Problem
		if got.IP != "" {
			text = fmt.Sprintf("%s:%d%s", got.IP, got.Port, got.Path)
		}
		if asked != c.asked || text != c.want || (got.Problem != "") != (got.Detail != "") {
			t.Errorf("%s: %v %q (%s), want %v %q", c.name, asked, text, got.Detail, c.asked, c.want)
		}
	}
}

// TestHostNetworkIsNotAsked: on the host's network anything may listen.
func TestHostNetworkIsNotAsked(t *testing.T) {
	pod := annotated(AnnotationScrape, VLLM)
	pod.HostNetwork = true
	if got, _ := TargetOf(&pod, nil); got.Problem != HostNetwork || got.IP != "" || !strings.Contains(got.Detail, "host") {
		t.Errorf("on the host's network: %+v", got)
	}
}
