// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/test/written"
)

// chartQuickStart types what the quick start says, and then what docs/install.md says
// beyond it, word for word, as an administrator in a checkout of the repository. Each
// command has to work at once; a question is asked until it is answered as the documents
// promise, within the first minute.
func chartQuickStart(t *testing.T) {
	chartNode(t)
	startTenants(t)
	r := newTyping(t)
	blocks := typed(t, "guide/quick-start.md", "## On Kubernetes")
	began := time.Now()
	for _, block := range blocks {
		r.types(block...)
	}
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the open report came %v after the first command, want it within a minute", took)
	}
	blocks = typed(t, "install.md", "# Installing on Kubernetes")
	for _, block := range blocks[1:] { // what the first one does is done
		r.types(block...)
	}
	for _, p := range promised {
		if !slices.ContainsFunc(r.done, func(c string) bool { return strings.HasPrefix(c, p.command) }) {
			t.Errorf("no document says %s", p.command)
		}
	}
	// As --set says, above what this machine's values say.
	if said, err := r.run("kubectl gputally report --open --by cluster"); err != nil || !strings.Contains(said, "\nmy-cluster ") {
		t.Errorf("%v, want my-cluster in\n%s", err, said)
	}
}

// promised is what commands answer at last, by how they begin.
var promised = []struct {
	command string
	answer  *regexp.Regexp
}{
	{"helm install ", regexp.MustCompile(`STATUS: deployed`)},
	{"kubectl gputally status", regexp.MustCompile(`agent`)},
	{"kubectl gputally report --open", bothTenants},
	{"kubectl -n gputally get pods -o wide", regexp.MustCompile(`(?m)^gputally-agent-\S+ +1/1 +Running(.*\n)*gputally-server-0 +1/1 +Running`)},
	{"gputally report --open --server ", bothTenants},
}

// bothTenants are in the table of a bill.
var bothTenants = regexp.MustCompile(`(?m)^ml .*\n(.*\n)*research .*\n(.*\n)*TOTAL `)

// typed are the blocks of commands under a heading of a document.
func typed(t *testing.T, file, heading string) [][]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(deliveredDocs, file))
	if err != nil {
		t.Fatal(err)
	}
	blocks := written.Typed(string(text), heading)
	if len(blocks) < 2 {
		t.Fatalf("docs/%s has %d blocks of commands under %s", file, len(blocks), heading)
	}
	return blocks
}

// typing is somebody at a shell.
type typing struct {
	t      *testing.T
	dir    string
	env    []string
	values string   // what this machine needs of the chart
	done   []string // the commands that were typed
}

// newTyping makes the shell of who has a checkout, kubectl with our plugin, Helm, and an
// administrator's kubeconfig. What is typed there is undone when the test ends.
func newTyping(t *testing.T) *typing {
	t.Helper()
	r := &typing{t: t, dir: t.TempDir(), values: valuesFile(t)}
	if err := os.MkdirAll(filepath.Join(r.dir, "deploy"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(deliveredChart, filepath.Join(r.dir, "deploy", "chart")); err != nil {
		t.Fatal(err)
	}
	programs := plugged(t).plugins
	if err := os.Symlink("/run/node/gputally/gputally", filepath.Join(programs, "gputally")); err != nil {
		t.Fatal(err)
	}
	r.env = append(os.Environ(), "PATH="+programs+":/run/node/bin:"+os.Getenv("PATH"), "KUBECONFIG=/run/node/kubeconfig/admin",
		"HOME="+r.dir, "HELM_CACHE_HOME="+r.dir, "HELM_CONFIG_HOME="+r.dir, "HELM_DATA_HOME="+r.dir)
	for _, path := range []string{"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gputally-me", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/gputally-reader", "/api/v1/namespaces/gputally"} {
		t.Cleanup(func() { remove(t, path) })
	}
	t.Cleanup(func() { helmUninstall(t) })
	t.Cleanup(func() { keepPodLogs(t) })
	return r
}

// question is a command that waits for gputally to have something to say.
var question = regexp.MustCompile(`^(kubectl )?gputally `)

// types types commands, each once: what was done already fails where it makes something.
func (r *typing) types(commands ...string) {
	r.t.Helper()
	for _, c := range commands {
		if slices.Contains(r.done, c) {
			continue
		}
		r.done = append(r.done, c)
		switch rest, behind := strings.CutSuffix(c, "&"); {
		case behind:
			r.leaves(c, rest)
		case question.MatchString(c):
			eventually(r.t, c, func() error { return r.answered(c) })
		default:
			if err := r.answered(c); err != nil {
				r.t.Fatal(err)
			}
		}
	}
}

// onThisMachine adds to a command what a machine of its own needs: no word of it goes.
func (r *typing) onThisMachine(c string) string {
	if strings.HasPrefix(c, "helm install ") {
		return c + " --values " + r.values
	}
	return c
}

func (r *typing) shell(ctx context.Context, c string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", c)
	cmd.Dir, cmd.Env = r.dir, r.env
	return cmd
}

// answered types a command and looks whether it answers what is promised.
func (r *typing) answered(c string) error {
	said, err := r.run(r.onThisMachine(c))
	if err != nil {
		return err
	}
	for _, p := range promised {
		if strings.HasPrefix(c, p.command) && !p.answer.MatchString(said) {
			return fmt.Errorf("%s: want %s in\n%s", c, p.answer, said)
		}
	}
	return nil
}

func (r *typing) run(c string) (string, error) {
	var said, wrong bytes.Buffer
	cmd := r.shell(r.t.Context(), c)
	cmd.Stdout, cmd.Stderr = &said, &wrong
	if err := cmd.Run(); err != nil {
		return said.String(), fmt.Errorf("%s: %w\n%s%s", c, err, said.String(), wrong.String())
	}
	return said.String(), nil
}

// port is where a command that is left running will answer: what kubectl forwards.
var port = regexp.MustCompile(` ([0-9]+)\s*$`)

// leaves types a command that goes on behind the next ones.
func (r *typing) leaves(c, rest string) {
	r.t.Helper()
	m := port.FindStringSubmatch(rest)
	if m == nil {
		r.t.Fatalf("%s: it names no port at its end", c)
	}
	ctx, end := context.WithCancel(context.Background())
	cmd := r.shell(ctx, "exec "+rest)
	var log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		end()
		_ = cmd.Wait() // it was killed
		if r.t.Failed() {
			r.t.Logf("%s: %s", c, log.String())
		}
	})
	eventually(r.t, c, func() error {
		conn, err := net.Dial("tcp", "localhost:"+m[1])
		if err != nil {
			return err
		}
		return conn.Close()
	})
}
