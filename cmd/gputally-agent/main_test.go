// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/capture"
	"github.com/gputally/gputally/internal/core/gpu"
	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/stage"
)

// asProgram makes the test binary be the agent itself.
const asProgram = "GPUTALLY_TEST_PROGRAM"

func TestMain(m *testing.M) {
	stage.HolderMain()
	if os.Getenv(asProgram) != "" {
		os.Exit(execute(os.Args[1:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// program is the agent as a process of its own, over the mock library.
type program struct {
	t      *testing.T
	cmd    *exec.Cmd
	url    string
	stderr *lines
}

// lines keeps what a process wrote, and shows each line as it comes.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
	each chan string
	end  chan struct{} // closed when the process wrote its last
}

func (l *lines) string() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asProgram+"=1")
	return cmd
}

var address = regexp.MustCompile(`listen=(\S+)`)

// startAgent runs the agent standalone on a port of its own, until the test ends.
func startAgent(t *testing.T, library, spoolDir string, more ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: command(t, append([]string{"--standalone", "--nvml-library", library,
		"--spool-dir", spoolDir, "--interval", "1s", "--listen", "127.0.0.1:0"}, more...)...)}
	out, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.cmd.Process.Kill(); _ = p.cmd.Wait() })
	p.stderr = &lines{each: make(chan string, 100), end: make(chan struct{})}
	go p.stderr.read(out)
	for line := range p.stderr.each {
		if m := address.FindStringSubmatch(line); m != nil {
			p.url = "http://" + m[1]
			go p.stderr.drain()
			return p
		}
	}
	t.Fatalf("the agent did not begin:\n%s", p.stderr.string())
	return nil
}

func (l *lines) read(r io.Reader) {
	defer close(l.end)
	defer close(l.each)
	s := bufio.NewScanner(r)
	for s.Scan() {
		l.mu.Lock()
		l.text.WriteString(s.Text() + "\n")
		l.mu.Unlock()
		l.each <- s.Text()
	}
}

func (l *lines) drain() {
	for range l.each {
	}
}

func (p *program) get(path string) string {
	p.t.Helper()
	resp, err := http.Get(p.url + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

// until waits for what the agent shows at path to contain text.
func (p *program) until(path, text string) string {
	p.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for {
		body := p.get(path)
		if strings.Contains(body, text) {
			return body
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not come to contain %q:\n%s", path, text, body)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// stop ends the agent as Kubernetes does, and wants a clean exit.
func (p *program) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.stderr.end
	if err := p.cmd.Wait(); err != nil {
		p.t.Errorf("the agent ended with %v", err)
	}
}

func holding(t *testing.T) (library string, state *mocknvml.State) {
	t.Helper()
	state = mocknvml.TestState(t)
	card := state.GPU("a100-40gb", "util=50")
	state.Proc(card, os.Getpid(), 6<<30)
	state.MustWrite(t)
	return mocknvml.Build(t), state
}

func TestAgentEndToEnd(t *testing.T) {
	library, _ := holding(t)
	dir := filepath.Join(t.TempDir(), "spool")
	a := startAgent(t, library, dir)
	metrics := a.until("/metrics", "gputally_memory_used_bytes{")
	if !strings.Contains(metrics, `grade="measured"`) || !strings.Contains(metrics, "} 6.442450944e+09\n") {
		t.Errorf("no 6 GiB, measured, in:\n%s", metrics)
	}
	a.until("/readyz", "ok")
	a.until("/healthz", "ok")
	node, err := agenthttp.Fetch(t.Context(), http.DefaultClient, a.url)
	if err != nil {
		t.Fatal(err)
	}
	if len(node.Result.Partitions) != 1 || node.Result.Partitions[0].State != gpu.StateOK || !node.Result.Standalone {
		t.Errorf("node %+v", node)
	}
	a.stop()

	out, err := command(t, "spool", "verify", "--json", dir).Output()
	if err != nil {
		t.Fatalf("verify: %v\n%s", err, out)
	}
	var v struct {
		Records int `json:"records"`
	}
	if err := json.Unmarshal(out, &v); err != nil || v.Records == 0 {
		t.Errorf("verify %s: %v", out, err)
	}
	cat, err := command(t, "spool", "cat", dir).Output()
	if err != nil || !strings.Contains(string(cat), `"byte_ms":`) {
		t.Errorf("cat: %v\n%s", err, cat)
	}
	ls, err := command(t, "spool", "ls", dir).Output()
	if err != nil || !strings.Contains(string(ls), "0000000000000001.seg") {
		t.Errorf("ls: %v\n%s", err, ls)
	}
}

// On a node of Kubernetes whose kubelet and API server cannot be reached the
// agent measures, is ready, and says what it does not know.
func TestKubernetesOutOfReach(t *testing.T) {
	library, _ := holding(t)
	dir := t.TempDir()
	kubeconfig := filepath.Join(dir, "kubeconfig")
	text := `{apiVersion: v1, kind: Config, current-context: c, clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}],
contexts: [{name: c, context: {cluster: c, user: u}}], users: [{name: u, user: {}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := startAgent(t, library, filepath.Join(dir, "spool"), "--standalone=false", "--kubeconfig", kubeconfig,
		"--node-name", "n1", "--pod-resources-socket", filepath.Join(dir, "no.sock"))
	metrics := a.until("/metrics", `gputally_source_up{source="kubernetes"} 0`)
	for _, want := range []string{`gputally_source_up{source="pod_resources"} 0`, `gputally_source_up{source="nvml"} 1`,
		`gputally_agent_info{agent_id=`, `mode="kubernetes"`, "gputally_memory_used_bytes{"} {
		if !strings.Contains(metrics, want) {
			t.Errorf("no %q in:\n%s", want, metrics)
		}
	}
	if strings.Contains(metrics, "gputally_partition_grants{") {
		t.Error("grants are counted though nobody could read them")
	}
	a.until("/readyz", "ok")
	a.stop()
}

// A server that is away keeps the agent from nothing, and is told once.
func TestServerOutOfReach(t *testing.T) {
	library, _ := holding(t)
	dir := filepath.Join(t.TempDir(), "spool")
	a := startAgent(t, library, dir, "--server", "http://127.0.0.1:1")
	a.until("/metrics", "gputally_ship_up 0\n")
	a.until("/readyz", "ok")
	a.until("/metrics", "gputally_memory_used_bytes{")
	a.until("/metrics", "gputally_ship_failures_total 3\n") // it goes on trying
	a.stop()
	if n := strings.Count(a.stderr.string(), `msg="records are not shipped`); n != 1 {
		t.Errorf("%d lines on one outage:\n%s", n, a.stderr.string())
	}
	if !strings.Contains(a.stderr.string(), "the last records are not shipped; the spool keeps them") {
		t.Errorf("nothing on the records that stay:\n%s", a.stderr.string())
	}
	if out, err := command(t, "spool", "verify", dir).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// Killed outright, the agent loses the open window only, and the next one says
// from when to when nothing was recorded.
func TestKilledAgentLeavesAGap(t *testing.T) {
	library, _ := holding(t)
	dir := filepath.Join(t.TempDir(), "spool")
	first := startAgent(t, library, dir)
	first.until("/readyz", "ok")
	first.stop()
	second := startAgent(t, library, dir)
	second.until("/metrics", "gputally_spool_unacknowledged_batches 2\n")
	_ = second.cmd.Process.Kill()
	_ = second.cmd.Wait()
	third := startAgent(t, library, dir)
	third.until("/metrics", "gputally_spool_unacknowledged_batches 3\n")
	third.stop()
	cat, err := command(t, "spool", "cat", dir).Output()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(cat), `"reason":"agent_down"`); n != 2 {
		t.Errorf("%d gaps, want one for each restart:\n%s", n, cat)
	}
	if out, err := command(t, "spool", "verify", dir).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
}

// A MIG instance is told from a later one of the same id by when it was first
// seen. That outlives the agent.
func TestMIGInstanceKeepsItsNameOverARestart(t *testing.T) {
	state := mocknvml.TestState(t)
	card := state.GPU("a100-40gb", "mig=1")
	state.MIG(card, "1g.5gb", 7, 0)
	state.MustWrite(t)
	library, dir := mocknvml.Build(t), filepath.Join(t.TempDir(), "spool")
	name := regexp.MustCompile(`partition="(gi7@[0-9]+)"`)
	var names []string
	for range 2 {
		a := startAgent(t, library, dir)
		metrics := a.until("/metrics", `partition="gi7@`)
		names = append(names, name.FindStringSubmatch(metrics)[1])
		a.stop()
	}
	if names[0] != names[1] {
		t.Errorf("the instance was %s and is %s after a restart", names[0], names[1])
	}
}

func TestCaptureCanBeReadBack(t *testing.T) {
	library, _ := holding(t)
	path := filepath.Join(t.TempDir(), "node.json")
	cmd := command(t, "capture", "--standalone", "--nvml-library", library, "--interval", "1s", "--duration", "2s",
		"--redact", "--node-name", "secret-node", "-o", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("capture: %v\n%s", err, out)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(text, []byte("secret-node")) {
		t.Error("the capture names the node though it is redacted")
	}
	file, err := capture.Read(bytes.NewReader(text), path)
	if err != nil {
		t.Fatal(err)
	}
	samples := 0
	for s := range file.Samples(file.Nodes[0].Name) {
		samples++
		if len(s.Devices) != 1 || len(s.Devices[0].Processes) != 1 {
			t.Errorf("sample %+v, want one device with one process", s)
		}
	}
	if samples != 3 {
		t.Errorf("%d samples in 2 s, want 3", samples)
	}
}

func TestMistakesEndWithCode2(t *testing.T) {
	for _, args := range [][]string{
		{"--no-such-flag"}, {"--interval", "1ms"}, {"--listen", "nowhere:port"}, {"--config", "/does/not/exist"},
		{"capture", "--interval", "1ms"}, {"measure"}, {"spool", "cat"}, {"spool", "mend", "x"}, {"run", "x"},
	} {
		var stderr bytes.Buffer
		cmd := command(t, args...)
		cmd.Stderr = &stderr
		_ = cmd.Run()
		if code := cmd.ProcessState.ExitCode(); code != exitUsage || stderr.Len() == 0 {
			t.Errorf("%v: exit code %d, %q; want 2 and a word", args, code, stderr.String())
		}
	}
}

func TestCheckConfigPrintsWhatStands(t *testing.T) {
	out, err := command(t, "--check-config", "--interval", "2s", "--node-name", "n1").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"interval: 2s\n", "node-name: n1\n", "daemons: [\"default\"]\n"} {
		if !strings.Contains(string(out), line) {
			t.Errorf("no %q in:\n%s", line, out)
		}
	}
	path := filepath.Join(t.TempDir(), "again.yaml")
	if err := os.WriteFile(path, out, 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := command(t, "--check-config", "--config", path).Output()
	if err != nil || !bytes.Equal(out, again) {
		t.Errorf("what it prints does not read back: %v\n%s", err, again)
	}
}
