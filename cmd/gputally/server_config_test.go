// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// loaded is the server's settings from a command line, an environment and a file.
func loaded(t *testing.T, args []string, env map[string]string, file string) (*serverFlags, error) {
	t.Helper()
	var f serverFlags
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	f.define(fs)
	if file != "" {
		path := filepath.Join(t.TempDir(), "server.yaml")
		if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "--config", path)
	}
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	return &f, f.load(fs, func(name string) string { return env[name] })
}

// TestServerSettingsByStrength: a flag is stronger than the environment, that is
// stronger than the file, that is stronger than the default.
func TestServerSettingsByStrength(t *testing.T) {
	const file = `
data-dir: /file
listen: :1
late: 3h
memory: 512
no-list-prices: true
price-book: [a.yaml, b.yaml]
cost-label: []
cluster-set: {prod-eu: europe, prod-us: america}
`
	env := map[string]string{"GPUTALLY_DATA_DIR": "/env", "GPUTALLY_LISTEN": ":2"}
	f, err := loaded(t, []string{"--data-dir", "/flag"}, env, file)
	if err != nil {
		t.Fatal(err)
	}
	if f.dataDir != "/flag" || f.listen != ":2" || f.late != 3*time.Hour || f.memoryMiB != 512 || !f.prices.noList || f.threads != 2 {
		t.Errorf("got %+v", f)
	}
	for _, d := range []string{
		cmp.Diff([]string{"a.yaml", "b.yaml"}, f.prices.books), cmp.Diff([]string{}, f.labels),
		cmp.Diff(map[string]string{"prod-eu": "europe", "prod-us": "america"}, f.sets),
	} {
		if d != "" {
			t.Error(d)
		}
	}
	// A list of something stronger is not added to the file's.
	f, err = loaded(t, []string{"--price-book", "c.yaml"}, map[string]string{"GPUTALLY_CLUSTER_SET": "x=y"}, file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"c.yaml"}, f.prices.books) + cmp.Diff(map[string]string{"x": "y"}, f.sets); d != "" {
		t.Error(d)
	}
	path := filepath.Join(t.TempDir(), "s.yaml")
	if err := os.WriteFile(path, []byte("data-dir: /file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err = loaded(t, nil, map[string]string{"GPUTALLY_CONFIG": path}, ""); err != nil || f.dataDir != "/file" {
		t.Errorf("a file named by the environment: %q, %v", f.dataDir, err)
	}
}

// TestServerConfigMistakes: each is told with file, line, field and what may stand
// there, also where something stronger sets it.
func TestServerConfigMistakes(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"listen: :1\ndatadir: /x\n", "server.yaml:2: datadir: is not a field that belongs here; there are agent-service-account, agent-token-file, audience, backup-dir,"},
		{"config: x.yaml\n", "server.yaml:1: config: is not a field"},
		{"late: soon\n", `server.yaml:1: late: "soon": write a time such as 48h or 90m`},
		{"memory: 2 GiB\n", `server.yaml:1: memory: "2 GiB": write a whole number`},
		{"no-list-prices: perhaps\n", `no-list-prices: "perhaps": write true or false`},
		{"data-dir: [a, b]\n", "server.yaml:1: data-dir: should be a plain value"},
		{"price-book: {a: b}\n", "price-book: should be a list of plain values"},
		{"cluster-set: prod=eu\n", "cluster-set: should be a mapping"},
		{"cluster-set: {a: b=c}\n", `cluster-set: "a": "b=c": neither name nor value`},
		{"late: 1h\nlate: 2h\n", `server.yaml:2: this is not valid YAML: mapping key "late" already defined`},
		{"- late\n", "should be a mapping"},
		{"", "holds no document, or several; want settings as NAME: VALUE"},
		{"a: b: c\n", "this is not valid YAML"},
	} {
		file := c.file
		if file == "" {
			file = "# nothing\n"
		}
		if _, err := loaded(t, []string{"--late", "1h"}, nil, file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.file, err, c.want)
		}
	}
	if _, err := loaded(t, []string{"--config", "/nowhere.yaml"}, nil, ""); err == nil || !strings.Contains(err.Error(), "/nowhere.yaml") {
		t.Errorf("no such file: %v", err)
	}
}

// TestServerExampleIsTheDefault: the example has every setting, and says what is
// the default anyway; what is commented out can be taken in.
func TestServerExampleIsTheDefault(t *testing.T) {
	text, err := os.ReadFile("../../config/server.example.yaml")
	if err != nil {
		t.Fatal(err)
	}
	is, err := loaded(t, nil, nil, string(text))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := loaded(t, nil, nil, "")
	is.config = ""
	if a, b := fmt.Sprintf("%+v", *is), fmt.Sprintf("%+v", *want); a != b {
		t.Errorf("with the example:\n%s\nwithout:\n%s", a, b)
	}
	all := regexp.MustCompile(`(?m)^# (([a-z-]+:|  ).*)$`).ReplaceAllString(string(text), "$1")
	if _, err := loaded(t, nil, nil, all); err != nil {
		t.Errorf("with all that is commented out: %v", err)
	}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serverFlags).define(fs)
	fs.VisitAll(func(f *pflag.Flag) {
		if f.Name != "config" && !strings.Contains("\n"+all, "\n"+f.Name+":") {
			t.Errorf("the example says nothing of %s", f.Name)
		}
	})
}

// TestServerConfigDocsAreUpToDate: docs/server-config.md is what the flags say.
func TestServerConfigDocsAreUpToDate(t *testing.T) {
	docsAreUpToDate(t, "server-config.md", writeServerConfig)
}

// docsAreUpToDate: a reference is what is written now, in both languages.
func docsAreUpToDate(t *testing.T, name string, write func(io.Writer, string) error) {
	t.Helper()
	for lang, dir := range map[string]string{"en": "../../docs/", "zh": "../../docs/zh/"} {
		var made writer
		if err := write(&made, lang); err != nil {
			t.Fatalf("%s in %s: %v", name, lang, err)
		}
		kept, err := os.ReadFile(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(kept), string(made)); diff != "" {
			t.Errorf("%s%s is out of date: make docs (-want +got):\n%s", dir, name, diff)
		}
	}
}
