// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/core/attribution"
)

// load reads settings as the agent does.
func load(t *testing.T, args []string, env map[string]string, file string) (*config, error) {
	t.Helper()
	var c config
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	c.bindSources(fs)
	c.bindService(fs)
	if file != "" {
		path := filepath.Join(t.TempDir(), "agent.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &c, c.load(fs, func(k string) string { return env[k] })
}

func TestFlagsBeforeEnvironmentBeforeFileBeforeDefaults(t *testing.T) {
	file := "interval: 9s\ncluster: from-file\nlisten: 127.0.0.1:1\nlog-format: json\n"
	env := map[string]string{"GPUTALLY_INTERVAL": "8s", "GPUTALLY_CLUSTER": "from-env", "NODE_NAME": "n1"}
	c, err := load(t, []string{"--interval", "7s"}, env, file)
	if err != nil {
		t.Fatal(err)
	}
	got := []string{c.interval.String(), c.cluster, c.listen, c.logFormat, c.proc, c.nodeName}
	if diff := cmp.Diff([]string{"7s", "from-env", "127.0.0.1:1", "json", "/proc", "n1"}, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestListsFromEverySource(t *testing.T) {
	want := []string{"default", "a/b=c"}
	for name, in := range map[string]struct {
		args []string
		env  map[string]string
		file string
	}{
		"flags": {args: []string{"--daemons", "default", "--daemons", "a/b=c"}},
		"env":   {env: map[string]string{"GPUTALLY_DAEMONS": "default a/b=c"}},
		"file":  {file: "daemons:\n  - default\n  - a/b=c\n"},
	} {
		c, err := load(t, in.args, in.env, in.file)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, c.daemons); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCostLabels: those given stand in the place of the usual ones, and a file
// can say that there are none.
func TestCostLabels(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		file string
		want []string
	}{
		"default":      {want: attribution.DefaultCostLabels()},
		"others":       {args: []string{"--cost-label", "a/b", "--cost-label", "c"}, want: []string{"a/b", "c"}},
		"none, a file": {file: "cost-label: []\n", want: []string{}},
	} {
		cfg, err := load(t, c.args, nil, c.file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := cfg.policy()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, p.CostLabels); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestServerSettings: what is wrong with the server's address, its token or its CA
// is found before anything is sent.
func TestServerSettings(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	token, short, empty := file("token", "0123456789abcdef\nold-0123456789abc\n"), file("short", "abc\n"), file("empty", "\n")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--server", "https://g.example:9403", "--server-token-file", token}, ""},
		{[]string{"--server", "http://127.0.0.1:9403"}, ""},
		{[]string{"--server", "g.example:9403"}, `server: server address "g.example:9403": want https://HOST:PORT`},
		{[]string{"--server", "https://g.example/?a=b"}, "want https://HOST:PORT"},
		{[]string{"--server-token-file", token}, "server-token-file is set and server is not"},
		{[]string{"--server-ca-file", token}, "server-ca-file is set and server is not"},
		{[]string{"--server", "https://g.example", "--server-token-file", filepath.Join(dir, "no")}, "server-token-file: read token file"},
		{[]string{"--server", "https://g.example", "--server-token-file", short}, "token 1 has 3 bytes: use at least 16"},
		{[]string{"--server", "https://g.example", "--server-token-file", empty}, "has no token"},
		{[]string{"--server", "https://g.example", "--server-ca-file", token}, "has no certificate in PEM form"},
	} {
		_, err := load(t, c.args, nil, "")
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%v: %v, want %q", c.args, err, c.says)
		}
	}
}

func TestTokenInTheOpen(t *testing.T) {
	for address, want := range map[string]bool{
		"http://10.0.0.1:9403": true, "http://g.example": true, "https://g.example": false,
		"http://127.0.0.1:9403": false, "http://localhost:9403": false, "http://[::1]:9403": false,
	} {
		c := serverConfig{address: address, tokenFile: "t"}
		if got := c.openToken(); got != want {
			t.Errorf("%s: %v", address, got)
		}
		if c.tokenFile = ""; c.openToken() {
			t.Errorf("%s: a token where there is none", address)
		}
	}
}

func TestMistakesAreNamedWithFileLineAndKey(t *testing.T) {
	for file, want := range map[string]string{
		"cluster: c\nintervall: 5s\n":         "agent.yaml:2: intervall: unknown setting; there are ",
		"interval: soon\n":                    `agent.yaml:1: interval: "soon" is no duration`,
		"# x\n\ninterval: 1s\ninterval: 2s\n": "agent.yaml:", // found by the parser or by us
		"listen:\n":                           "agent.yaml:1: listen: no value given",
		"listen: {a: b}\n":                    "agent.yaml:1: listen: want a plain value",
		"interval: [1s, 2s]\n":                "agent.yaml:1: interval: want one value",
		"- a\n":                               "agent.yaml:1: want settings",
		"check-config: true\n":                "agent.yaml:1: check-config: unknown setting",
		"a: 'b\n":                             "agent.yaml",
	} {
		_, err := load(t, nil, nil, file)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", file, err, want)
		}
	}
}

func TestWrongSettingsAreRefused(t *testing.T) {
	for args, want := range map[string]string{
		"--interval 10ms":             "the shortest is 1s",
		"--interval 5m":               "the longest is 1m",
		"--standalone --kubeconfig x": "no Kubernetes",
		"--in-cluster --kubeconfig x": "set one",
		"--spool-max-bytes 5":         "the least is",
		"--log-format xml":            "write one of text, json",
		"--log-level loud":            "write one of debug",
		"--daemons nonsense":          "NAMESPACE/LABEL=VALUE",
		"--cost-label team=a":         `cost-label: "team=a" is no key of a label`,
		"--daemons ns/":               "NAMESPACE/LABEL=VALUE",
		"--daemons unit:":             "NAMESPACE/LABEL=VALUE",
	} {
		if _, err := load(t, strings.Fields(args), nil, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	_, err := load(t, nil, map[string]string{"GPUTALLY_INTERVAL": "x"}, "")
	if err == nil || !strings.Contains(err.Error(), "GPUTALLY_INTERVAL") {
		t.Errorf("environment: %v, want the variable's name", err)
	}
}

func TestDaemonSelectors(t *testing.T) {
	for text, want := range map[string]attribution.Daemon{
		"mon/app=x,tier=gpu":           {Namespace: "mon", Labels: map[string]string{"app": "x", "tier": "gpu"}},
		"mon/app.kubernetes.io/name=x": {Namespace: "mon", Labels: map[string]string{"app.kubernetes.io/name": "x"}},
		"mon/pod:probe-":               {Namespace: "mon", PodPrefix: "probe-"},
		"mon/comm:dcgm,app=x":          {Namespace: "mon", Comm: "dcgm", Labels: map[string]string{"app": "x"}},
		"unit:dcgm.service":            {Unit: "dcgm.service"},
	} {
		got, err := parseDaemon(text)
		if err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// The example names every setting, and what it sets is the default.
func TestExampleConfiguration(t *testing.T) {
	const path = "../../config/agent.example.yaml"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range settingNames(allSettings()) {
		if !bytes.Contains(text, []byte("\n"+name+":")) && !bytes.Contains(text, []byte("\n# "+name+":")) {
			t.Errorf("the example does not name %s", name)
		}
	}
	with, err := load(t, []string{"--config", path}, map[string]string{"NODE_NAME": "n"}, "")
	if err != nil {
		t.Fatal(err)
	}
	without, err := load(t, nil, map[string]string{"NODE_NAME": "n"}, "")
	if err != nil {
		t.Fatal(err)
	}
	without.file = with.file
	if diff := cmp.Diff(without, with, cmp.AllowUnexported(config{}, serverConfig{})); diff != "" {
		t.Errorf("the example changes defaults (-default +example):\n%s", diff)
	}
	if with.interval != 5*time.Second {
		t.Errorf("interval %s", with.interval)
	}
}

func TestFlagDocsAreCurrent(t *testing.T) {
	for lang, path := range map[string]string{"en": "../../docs/flags.md", "zh": "../../docs/zh/flags.md"} {
		var want bytes.Buffer
		if err := writeFlags(&want, newRoot(), lang); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.String(), string(got)); diff != "" {
			t.Errorf("%s is out of date: make docs (-want +got):\n%s", path, diff)
		}
	}
}

func FuzzConfigurationFile(f *testing.F) {
	f.Add("interval: 5s\n")
	f.Add("daemons: [default, a/b=c]\n")
	f.Add("a: &x\n  - *x\n")
	f.Add("---\n---\n")
	f.Add("? x\n: y\n")
	f.Add("{interval: 5s")
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(t.TempDir(), "agent.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := applyFile(allSettings(), path); err != nil && !strings.Contains(err.Error(), "agent.yaml") {
			t.Errorf("the error does not name the file: %v", err)
		}
	})
}

func TestPlatformNamespacesAreThoseOfTheDaemons(t *testing.T) {
	c, err := load(t, []string{"--daemons", "acme-gpu/app=exporter", "--daemons", "unit:acme.service", "--daemons", "acme-gpu/pod:probe-"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"acme-gpu"}, c.platformNamespaces()); diff != "" {
		t.Errorf("namespaces (-want +got):\n%s", diff)
	}
}
