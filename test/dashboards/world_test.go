// SPDX-License-Identifier: Apache-2.0

package dashboards

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/gputally/gputally/internal/core/demand"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

func TestMain(m *testing.M) {
	stage.HolderMain()
	os.Exit(m.Run())
}

const repo = "../.."

// need finds a program of Debian's package prometheus, or leaves the test out: CI
// installs it, and fails where a test was left out.
func need(t *testing.T, program string) string {
	t.Helper()
	path, err := exec.LookPath(program)
	if err != nil {
		message := fmt.Sprintf("LEFT OUT: %s needs %s. On Debian or Ubuntu: sudo apt-get install -y --no-install-recommends prometheus", t.Name(), program)
		fmt.Fprintln(os.Stderr, message)
		t.Skip(message)
	}
	return path
}

// output is what a program wrote so far.
type output struct{ path string }

func (o output) text() string {
	b, err := os.ReadFile(o.path)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// start runs a program until the test is over.
func start(t *testing.T, program string, args ...string) output {
	t.Helper()
	o := output{filepath.Join(t.TempDir(), "log")}
	log, err := os.Create(o.path)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close() // the child has its own
	c := exec.Command(program, args...)
	c.Stdout, c.Stderr = log, log
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = c.Wait()
	})
	return o
}

// until waits for something, and says what is missing if it does not come.
func until(t *testing.T, atMost time.Duration, missing func() string) {
	t.Helper()
	for end := time.Now().Add(atMost); ; time.Sleep(time.Second) {
		why := missing()
		if why == "" {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("after %s: %s", atMost, why)
		}
	}
}

// world is the address of everything that is scraped, and the folder of the programs.
type world struct {
	bin    string
	server string
	agents []string
}

// staged puts the demo's fleet up, and one node more.
func staged(t *testing.T) world {
	t.Helper()
	bin := t.TempDir()
	for _, args := range [][]string{{"../../cmd/gputally", "../../cmd/gputally-agent"}, {"../demo"}} {
		if out, err := exec.Command("go", append([]string{"build", "-o", bin + "/"}, args...)...).CombinedOutput(); err != nil {
			t.Fatalf("build: %v\n%s", err, out)
		}
	}
	library := mocknvml.Build(t)
	demo := start(t, filepath.Join(bin, "demo"), "--bin", bin, "--nvml", library, "--files", "../demo", "--days", strconv.Itoa(days(time.Now())))
	until(t, 4*time.Minute, func() string {
		if text := demo.text(); !strings.Contains(text, "Press Ctrl-C") {
			return "the demo is not up:\n" + text
		}
		return ""
	})
	w := world{bin: bin, server: "127.0.0.1:9403"}
	if m := regexp.MustCompile(` --server http://(\S+)`).FindStringSubmatch(demo.text()); m != nil {
		w.server = m[1]
	}
	for _, m := range regexp.MustCompile(`\(cluster \S+, http://(\S+)\)`).FindAllStringSubmatch(demo.text(), -1) {
		w.agents = append(w.agents, m[1])
	}
	if len(w.agents) != 3 {
		t.Fatalf("the demo names agents %v:\n%s", w.agents, demo.text())
	}
	w.agents = append(w.agents, more(t, filepath.Join(bin, "gputally-agent"), library, "http://"+w.server))
	return w
}

// more is a node with what the demo does not have: an XID, and an inference engine
// that is looked at.
func more(t *testing.T, program, library, server string) (address string) {
	t.Helper()
	s, err := stage.New(t.TempDir(), "node-x")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	ip, port := engine(t)
	card := s.NVML.GPU("h100")
	pod, err := s.Run(stage.PodSpec{Namespace: "ai", Name: "llm-0", Container: "server", Resource: "nvidia.com/gpu", Devices: []string{mocknvml.UUID(card.Index())}, IP: ip,
		Annotations: map[string]string{demand.AnnotationScrape: "vllm", demand.AnnotationPort: port, demand.AnnotationPoolBytes: "8000000000"}})
	if err != nil {
		t.Fatal(err)
	}
	proc, err := pod.Process("vllm")
	if err != nil {
		t.Fatal(err)
	}
	s.NVML.Proc(card, proc.PID, 70<<30)
	s.NVML.MustWrite(t)
	if err := s.SetNode(nil, nil); err != nil {
		t.Fatal(err)
	}
	a, err := s.StartAgent(stage.Run{Program: program, Library: library, Flags: []string{"--interval", "1s", "--server", server}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = a.Stop() // the test is over
		if t.Failed() {
			t.Logf("the log of node-x's agent:\n%s", a.Log())
		}
	})
	until(t, 30*time.Second, func() string {
		if text, err := get(a.URL + "/metrics"); err != nil || !strings.Contains(text, `state="ok"`) {
			return fmt.Sprintf("the agent of node-x measures no GPU: %v\n%s", err, a.Log())
		}
		return ""
	})
	s.NVML.XID(card, 48)
	s.NVML.MustWrite(t)
	return strings.TrimPrefix(a.URL, "http://")
}

// engine serves a page as vLLM does, at an address that a pod could have.
func engine(t *testing.T) (ip, port string) {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			ip = n.IP.String()
		}
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		fmt.Fprint(w, `vllm:num_requests_running{model_name="llama",engine="0"} 3
vllm:num_requests_waiting{model_name="llama",engine="0"} 0
vllm:num_preemptions_total{model_name="llama",engine="0"} 7
vllm:kv_cache_usage_perc{model_name="llama",engine="0"} 0.25
vllm:cache_config_info{block_size="16",num_gpu_blocks="1000"} 1
`)
	}))
	server.Listener.Close()
	server.Listener = l
	server.Start()
	t.Cleanup(server.Close)
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return ip, port
}

func get(address string) (string, error) {
	r, err := http.Get(address)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(r.Body)
	return b.String(), err
}

// prometheus is a running one.
type prometheus struct {
	url string
	log output
}

// watch runs Prometheus over the world, with the alerts of the plain manifests. The
// jobs have the names that the Prometheus Operator gives them.
func watch(t *testing.T, w world) prometheus {
	t.Helper()
	program, tool := need(t, "prometheus"), need(t, "promtool")
	dir := t.TempDir()
	agents, _ := json.Marshal(w.agents)
	config := fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yaml]
scrape_configs:
- {job_name: gputally/gputally-agent, honor_labels: true, static_configs: [{targets: %s, labels: {namespace: gputally, pod: agent}}]}
- {job_name: gputally-server, honor_labels: true, static_configs: [{targets: [%q], labels: {namespace: gputally}}]}
`, agents, w.server)
	for name, text := range map[string]string{"prometheus.yaml": config, "rules.yaml": alerts(t)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command(tool, "check", "config", filepath.Join(dir, "prometheus.yaml")).CombinedOutput(); err != nil {
		t.Fatalf("promtool check config: %v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	p := prometheus{"http://" + address, start(t, program, "--config.file="+filepath.Join(dir, "prometheus.yaml"),
		"--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address="+address, "--log.level=warn")}
	until(t, 30*time.Second, func() string {
		if text, err := get(p.url + "/-/ready"); err != nil || !strings.Contains(text, "eady") {
			return fmt.Sprintf("Prometheus is not ready: %v %s\n%s", err, text, p.log.text())
		}
		return ""
	})
	return p
}

// alerts are the groups of the PrometheusRule in deploy/manifests, as a rule file.
func alerts(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(repo, "deploy/manifests/monitoring.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range strings.Split("\n"+string(text), "\n---") {
		var o struct {
			Kind string `yaml:"kind"`
			Spec any    `yaml:"spec"`
		}
		if err := yaml.Unmarshal([]byte(doc), &o); err != nil {
			t.Fatal(err)
		}
		if o.Kind == "PrometheusRule" {
			out, err := yaml.Marshal(o.Spec)
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}
	}
	t.Fatal("deploy/manifests/monitoring.yaml has no PrometheusRule")
	return ""
}

// answer is one series of an instant query.
type answer struct {
	Metric map[string]string `json:"metric"`
	Value  [2]any            `json:"value"`
}

// ask runs an instant query.
func (p prometheus) ask(expr string) ([]answer, error) {
	text, err := get(p.url + "/api/v1/query?" + url.Values{"query": {expr}}.Encode())
	if err != nil {
		return nil, err
	}
	var r struct {
		Status, Error string
		Data          struct {
			Result []answer
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, err
	}
	if r.Status != "success" {
		return nil, fmt.Errorf("%s: %s", expr, r.Error)
	}
	return r.Data.Result, nil
}
