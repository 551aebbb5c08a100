// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gputally/gputally/test/mocknvml"
	"github.com/gputally/gputally/test/written"
)

// hostCommands are what the documents have typed on a GPU host: all commands of a block
// under a heading, from the first that begins so.
var hostCommands = []struct{ file, heading, first string }{
	{"docs/guide/quick-start.md", "## On one GPU host, without Kubernetes", "make build"},
	{"README.md", "## On a GPU node", "bin/gputally top"},
	{"docs/guide/how-to.md", "## Answer a dispute", "sudo gputally-agent capture"},
	{"docs/guide/how-to.md", "## Read a vLLM pod", "gputally top"},
}

// TestHostAsWritten types these commands, in their words and order, on a host whose
// only fake is the GPU: programs at the documents' addresses in a network of their own,
// a process that holds GPU memory, no Kubernetes.
func TestHostAsWritten(t *testing.T) {
	h := newHost(t)
	for _, c := range hostCommands {
		h.types(blockOf(t, c.file, c.heading, c.first)...)
	}
	h.enter()
}

// blockOf is the rest of the block that has a command that begins so.
func blockOf(t *testing.T, file, heading, first string) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range written.Typed(string(text), heading) {
		for i, line := range block {
			if strings.HasPrefix(line, first) {
				return block[i:]
			}
		}
	}
	t.Fatalf("%s has no %q under %s", file, first, heading)
	return nil
}

// host is a machine with a GPU and a checkout in which programs are built.
type host struct {
	t      *testing.T
	dir    string
	script strings.Builder
}

func newHost(t *testing.T) *host {
	h := &host{t: t, dir: t.TempDir()}
	bin := filepath.Join(h.dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gputally", "gputally-agent"} {
		if err := os.Symlink(build(t, name), filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	// Whoever types is root already.
	if err := os.WriteFile(filepath.Join(bin, "sudo"), []byte("#!/bin/sh\nexec \"$@\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	state := mocknvml.TestState(t)
	state.Proc(state.GPU("a100-40gb"), os.Getpid(), 6<<30)
	state.MustWrite(t)
	for name, value := range map[string]string{
		"GPUTALLY_NVML_LIBRARY": mocknvml.Build(t), "GPUTALLY_SPOOL_DIR": filepath.Join(h.dir, "spool"), "GPUTALLY_INTERVAL": "1s",
		"GPUTALLY_MEMORY": "512", "PATH": bin + ":" + os.Getenv("PATH"),
	} {
		t.Setenv(name, value)
	}
	fmt.Fprint(&h.script, "trap 'kill $(jobs -p) 2>/dev/null; wait' EXIT\n")
	return h
}

// answers are what commands say once there is something to say, by what is in them.
var answers = []struct {
	command *regexp.Regexp
	answer  string
}{
	{regexp.MustCompile(`gputally top`), "6,144 of 40,960 MiB used"},
	{regexp.MustCompile(`gputally report --open`), `^\[host\]`},
	{regexp.MustCompile(`curl .*/metrics`), "gputally_memory_used_bytes.* 6.442450944e.09"},
	{regexp.MustCompile(`gputally-agent capture`), ""},
	{regexp.MustCompile(`gputally replay`), "host .* 6,144 "},
}

// stays are commands that go on: in a terminal of their own.
var stays = regexp.MustCompile(`bin/gputally server|gputally-agent --`)

// types puts commands into the script. One that asks is typed again until it answers.
func (h *host) types(commands ...string) {
	h.t.Helper()
	for _, c := range commands {
		fmt.Fprintf(&h.script, "echo %s\n", quoted("$ "+c))
		switch c = h.onThisMachine(c); {
		case c == "":
		case stays.MatchString(c):
			fmt.Fprintf(&h.script, "{ exec %s\n} &\n", c)
		default:
			fmt.Fprintf(&h.script, "until said=$(%s\n) && grep -qE -- %s <<<\"$said\"; do sleep 0.2; done\necho \"$said\"\n", c, quoted(h.answer(c)))
		}
	}
}

// onThisMachine is a command as it has to be here: programs are built outside of the
// checkout, there is no terminal to draw on, and nobody waits for ten minutes.
func (h *host) onThisMachine(c string) string {
	if rest, ok := strings.CutPrefix(c, "make "); ok {
		cmd := exec.Command("make", append([]string{"-n"}, strings.Fields(rest)...)...)
		cmd.Dir = "../.."
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "-o bin/ ./cmd/gputally ./cmd/gputally-agent") {
			h.t.Errorf("%s would not build the programs: %v\n%s", c, err, out)
		}
		return ""
	}
	if top := regexp.MustCompile(`gputally top(\s+#.*)?$`).FindStringIndex(c); top != nil {
		c = c[:top[0]] + "gputally top --once"
	}
	return strings.Replace(c, "--duration 10m", "--duration 3s", 1)
}

func (h *host) answer(c string) string {
	for _, a := range answers {
		if a.command.MatchString(c) {
			return a.answer
		}
	}
	h.t.Fatalf("nobody knows what %q answers", c)
	return ""
}

func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// enter runs the script, in a network that has nothing but itself.
func (h *host) enter() {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), 2*time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		h.t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, "-euo", "pipefail", "-c", h.script.String())
	cmd.Dir, cmd.Env = h.dir, append(os.Environ(), aloneVar+"=1")
	cmd.SysProcAttr = alone()
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(syscall.SIGTERM) }, 20*time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	switch err := cmd.Start(); {
	case err != nil:
		h.t.Skipf("LEFT OUT: this machine gives no network of its own: %v", err)
	default:
		err = cmd.Wait()
		if h.t.Log(said.String()); err != nil {
			h.t.Error(err)
		}
	}
}

// aloneVar makes this program a shell in a network of its own.
const aloneVar = "GPUTALLY_TEST_ALONE"

// alone asks for a network of its own: who is not root needs users of its own for that.
func alone() *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	}
	return &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWNET | syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// shell becomes bash, once the loopback of its network is up.
func shell(args []string) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return fmt.Errorf("open socket: %w", err)
	}
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo); err != nil {
		return fmt.Errorf("bring loopback up: %w", err)
	}
	bash, err := exec.LookPath("bash")
	if err != nil {
		return err
	}
	return syscall.Exec(bash, append([]string{"bash"}, args...), os.Environ())
}
