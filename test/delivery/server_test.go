// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/app/server"
)

// The test binary is the server when it is told its directory and address.
const (
	serverDir     = "GPUTALLY_TEST_SERVER_DIR"
	serverAddress = "GPUTALLY_TEST_SERVER_ADDRESS"
)

func TestMain(m *testing.M) {
	if os.Getenv(aloneVar) != "" {
		fmt.Fprintln(os.Stderr, shell(os.Args[1:])) // it comes back with an error alone
		os.Exit(1)
	}
	if dir := os.Getenv(serverDir); dir != "" {
		if err := serve(dir, os.Getenv(serverAddress)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir) // the system's folder for what may go
	}
	os.Exit(code)
}

// serve is the server: journal, group commit, HTTP. It says when it is ready,
// and each problem that it found.
func serve(dir, address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	store, problems, err := duck.Open(ctx, dir, duck.Options{MemoryBytes: 512 << 20})
	if err != nil {
		return err
	}
	for _, p := range problems {
		fmt.Println("problem", p.Kind)
	}
	in := server.NewIngest(store, server.IngestConfig{Linger: 5 * time.Millisecond, CheckpointEvery: 150 * time.Millisecond})
	l, err := ingest.Listen(ingest.ListenOptions{Address: address})
	if err != nil {
		return errors.Join(err, store.Close())
	}
	fmt.Println("ready")
	inner, end := context.WithCancel(context.Background())
	wrote := make(chan error, 1)
	go func() { wrote <- in.Run(inner) }()
	err = ingest.Serve(ctx, l, ingest.Handler(ingest.Options{Taker: in}))
	end()
	return errors.Join(err, <-wrote, store.Close())
}

// process is a server in a process of its own.
type process struct {
	t        *testing.T
	dir      string
	address  string
	cmd      *exec.Cmd
	stderr   *strings.Builder
	problems []string
	ended    chan struct{}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the server and waits until it is ready.
func (p *process) start() {
	p.t.Helper()
	p.cmd = exec.Command(os.Args[0])
	p.cmd.Env = append(os.Environ(), serverDir+"="+p.dir, serverAddress+"="+p.address)
	p.stderr = &strings.Builder{}
	p.cmd.Stderr = p.stderr
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.ended = make(chan struct{})
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if kind, ok := strings.CutPrefix(lines.Text(), "problem "); ok {
			p.problems = append(p.problems, kind)
		}
		if lines.Text() == "ready" {
			go func() {
				_ = p.cmd.Wait() // asked for by kill and stop
				close(p.ended)
			}()
			return
		}
	}
	_ = p.cmd.Wait()
	p.t.Fatalf("the server did not get ready: %s", p.stderr)
}

func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// stop ends the server in an orderly way.
func (p *process) stop() {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	<-p.ended
	if !p.cmd.ProcessState.Success() || p.stderr.Len() > 0 {
		p.t.Fatalf("the server ended with %s: %s", p.cmd.ProcessState, p.stderr)
	}
}
