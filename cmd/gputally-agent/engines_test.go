// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

func TestEngineTargets(t *testing.T) {
	got, err := parseEngineTarget("vllm:81/m@ai/app=llm,tier=a")
	want := demand.Selector{Engine: "vllm", Port: 81, Path: "/m", Namespace: "ai", Labels: map[string]string{"app": "llm", "tier": "a"}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for text, says := range map[string]string{
		"vllm":                   "write ENGINE",
		"vllm@ai":                "write ENGINE",
		"vllm@/app=llm":          "write ENGINE",
		"vLLM@ai/app=llm":        "one of vllm",
		"vllm:0@ai/app=llm":      "1 to 65535",
		"vllm:http@ai/app=llm":   "1 to 65535",
		"tgi@ai/app=llm":         "give the port",
		"vllm@ai/app":            "LABEL=VALUE",
		"vllm/../x@ai/app=llm":   "begins with /",
		"vllm/m?x=1@ai/app=llm":  "begins with /",
		"vllm:1:2@ai/app=llm":    "1 to 65535",
		"http://host/x@ai/app=a": "one of vllm",
	} {
		if _, err := parseEngineTarget(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
	}
}

// podAddress is an address of this machine that a pod could have.
func podAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address but loopback, which is never asked")
	return ""
}

// engineAt serves a page as vLLM does, at an address that a pod could have.
func engineAt(t *testing.T, ip string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/metrics" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, "vllm:num_requests_running{model_name=\"llama\",engine=\"0\",user=\"secret\"} 3\nvllm:num_requests_waiting{model_name=\"llama\",engine=\"0\"} 0\n"+
			"vllm:kv_cache_usage_perc{model_name=\"llama\",engine=\"0\"} 0.25\nvllm:cache_config_info{block_size=\"16\",num_gpu_blocks=\"1000\"} 1\n")
	}))
	_ = server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// stageOf is a node whose pods have an engine: one that wants to be looked at, one
// whose annotation is wrong, one that nobody asks for.
func stageOf(t *testing.T, ip, port string) *stage.Stage {
	t.Helper()
	s, err := stage.New(t.TempDir(), "node-a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for i, annotations := range []map[string]string{
		{demand.AnnotationScrape: "vllm", demand.AnnotationPort: port, demand.AnnotationPoolBytes: "8000000000"},
		{demand.AnnotationScrape: "vLLM"},
		nil,
	} {
		card := s.NVML.GPU("a100-40gb")
		pod, err := s.Run(stage.PodSpec{Namespace: "ai", Name: fmt.Sprintf("llm-%d", i), Container: "server", Resource: "nvidia.com/gpu",
			Devices: []string{mocknvml.UUID(card.Index())}, Annotations: annotations, IP: ip})
		if err != nil {
			t.Fatal(err)
		}
		proc, err := pod.Process("vllm")
		if err != nil {
			t.Fatal(err)
		}
		s.NVML.Proc(card, proc.PID, 20<<30)
	}
	s.NVML.MustWrite(t)
	return s
}

// TestEngineIsReadEndToEnd: the agent finds the pod by its annotation, asks it at
// its own address, and shows and records what it says, and nothing else of it.
func TestEngineIsReadEndToEnd(t *testing.T) {
	ip := podAddress(t)
	s := stageOf(t, ip, engineAt(t, ip))
	t.Setenv(asProgram, "1")
	a, err := s.StartAgent(stage.Run{Program: os.Args[0], Library: mocknvml.Build(t), Flags: []string{"--interval", "1s"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.Kill)
	const llm0 = `workload_container="server",workload_namespace="ai",workload_pod="llm-0"`
	text := until(t, a, "gputally_engine_pool_used_ratio{"+llm0, `gputally_engine_problem{problem="bad_annotation",workload_container="server",workload_namespace="ai",workload_pod="llm-1"`)
	for _, want := range []string{`gputally_engine_info{engine="vllm",model="llama",` + llm0, "gputally_engine_pool_bytes{" + llm0} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s", want)
		}
	}
	if strings.Contains(text, "llm-2\",workload_uid") && strings.Contains(text, `gputally_engine_info{engine="vllm",model="llama",workload_container="server",workload_namespace="ai",workload_pod="llm-2"`) {
		t.Error("a pod that nobody asks for is asked")
	}
	if err := a.Stop(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(os.Args[0], "spool", "cat", a.Spool).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"engines":[`, `"pool_use_max":0.25`, `"declared":true`, `"model":"llama"`, `"problems":{"bad_annotation":`} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the records lack %s", want)
		}
	}
	for name, text := range map[string]string{"records": string(out), "log": a.Log(), "metrics": text} {
		if strings.Contains(text, "secret") {
			t.Errorf("what a label of the page says is in the %s", name)
		}
	}
	if !strings.Contains(a.Log(), `gputally.io/scrape-engine is \"vLLM\": write true, false or one of`) {
		t.Errorf("the log does not say what is wrong with the annotation:\n%s", a.Log())
	}
}

// until waits for the agent's metrics to contain texts.
func until(t *testing.T, a *stage.Agent, texts ...string) string {
	t.Helper()
	p := &program{t: t, url: a.URL}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(100 * time.Millisecond) {
		resp, err := http.Get(a.URL + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the agent does not begin: %v\n%s", err, a.Log())
		}
	}
	text := ""
	for _, want := range texts {
		text = p.until("/metrics", want)
	}
	return text
}
