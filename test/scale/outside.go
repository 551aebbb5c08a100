// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const clusterDir = "test/cluster"

// outside makes the namespaces, runs this program in them, and writes the document.
// It must be started at the top of the repository.
func outside(ctx context.Context, doc string) (err error) {
	if os.Geteuid() != 0 {
		return errors.New("namespaces need root: run it as root")
	}
	if _, err := os.Stat(clusterDir); err != nil {
		return fmt.Errorf("run it at the top of the repository (make scale): %w", err)
	}
	run, err := os.MkdirTemp("/var/tmp", "gputally-node.")
	if err != nil {
		return fmt.Errorf("make run folder: %w", err)
	}
	bin, err := prepare(ctx, run)
	if err != nil {
		return errors.Join(err, os.RemoveAll(run))
	}
	lifeline, err := namespaces(ctx, run, bin)
	defer func() {
		lifeline.Close()
		_, downErr := script(clusterDir+"/node/down.sh", "NODE="+run)
		err = errors.Join(err, downErr)
	}()
	if err != nil {
		return err
	}
	table, err := goInside(ctx, run)
	if err != nil {
		return errors.Join(err, keepLogs(run))
	}
	return publish(doc, table)
}

func publish(doc, table string) error {
	if doc == "" {
		fmt.Print(table)
		return nil
	}
	old, err := os.ReadFile(doc)
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	fresh, err := refreshed(string(old), table)
	if err != nil {
		return fmt.Errorf("refresh %s: %w", doc, err)
	}
	return os.WriteFile(doc, []byte(fresh), 0o644)
}

// prepare builds what runs inside, and returns the folder of Kubernetes' programs.
func prepare(ctx context.Context, run string) (bin string, err error) {
	if err := os.WriteFile(filepath.Join(run, "owner.pid"), fmt.Append(nil, os.Getpid()), 0o644); err != nil {
		return "", fmt.Errorf("sign run folder: %w", err)
	}
	// Nothing here asks NVML, but the node's scripts lay out a driver with it.
	if err := os.WriteFile(filepath.Join(run, "libnvidia-ml.so.1"), nil, 0o644); err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, "make", "-s", "build", "BIN="+run)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build gputally: %w\n%s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program: %w", err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	if err := os.WriteFile(filepath.Join(run, "scale.test"), program, 0o755); err != nil {
		return "", fmt.Errorf("copy this program: %w", err)
	}
	out, err := script(clusterDir+"/build.sh", "GPUTALLY_CLUSTER_MORE=kwok")
	return strings.TrimSpace(out), err
}

// namespaces makes the node without starting anything on it. It ends when the file
// closes, so also when this process is killed.
func namespaces(ctx context.Context, run, bin string) (lifeline *os.File, err error) {
	hold, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make pipe: %w", err)
	}
	defer hold.Close()
	// Inside, the repository may be hidden by the node's own /tmp or /run.
	if err := os.CopyFS(filepath.Join(run, "scripts"), os.DirFS(clusterDir+"/node")); err != nil {
		return lifeline, fmt.Errorf("copy scripts: %w", err)
	}
	for _, d := range []string{"log", "pid"} {
		if err := os.Mkdir(filepath.Join(run, d), 0o755); err != nil {
			return lifeline, err
		}
	}
	log, err := os.Create(filepath.Join(run, "log", "keeper.log"))
	if err != nil {
		return lifeline, err
	}
	defer log.Close()
	cmd := exec.Command("setsid", clusterDir+"/node/outer.sh")
	cmd.Env = append(os.Environ(), "NODE="+run, "BIN="+bin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = hold, log, log
	if err := cmd.Start(); err != nil {
		return lifeline, fmt.Errorf("start the node: %w", err)
	}
	if err := until(ctx, 20*time.Second, 100*time.Millisecond, "the namespaces are there", func() error {
		_, err := os.Stat(filepath.Join(run, "ready"))
		return err
	}); err != nil {
		said, _ := os.ReadFile(log.Name()) // only to say more
		return lifeline, fmt.Errorf("%w: %s", err, said)
	}
	keeper, err := os.ReadFile(filepath.Join(run, "keeper.pid"))
	if err != nil {
		return lifeline, err
	}
	first, err := exec.Command("pgrep", "-x", "-P", strings.TrimSpace(string(keeper)), "inner.sh").Output()
	if err != nil {
		return lifeline, fmt.Errorf("find the node's first process: %w", err)
	}
	return lifeline, os.WriteFile(filepath.Join(run, "init.pid"), first, 0o644)
}

// goInside runs this program in the node and returns the table that it prints.
func goInside(ctx context.Context, run string) (string, error) {
	var table bytes.Buffer
	cmd := exec.CommandContext(ctx, clusterDir+"/node/in.sh", append([]string{"/run/node/scale.test", "-inside"}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), "NODE="+run)
	cmd.Stdout, cmd.Stderr = &table, os.Stderr
	// A signal ends the way in, not what runs there: the node's end does.
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("measure: %w", err)
	}
	return table.String(), nil
}

// keepLogs copies the daemons' logs to where they outlive the node.
func keepLogs(run string) error {
	const kept = "/var/tmp/gputally-scale-logs"
	if err := os.RemoveAll(kept); err != nil {
		return fmt.Errorf("clear old logs: %w", err)
	}
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(run, "log"))); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	say("the logs are in %s", kept)
	return nil
}

func script(path string, env ...string) (string, error) {
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("run %s: %w", path, err)
	}
	return string(out), nil
}

// until tries until try succeeds; its last error is returned where time is up.
func until(ctx context.Context, within, every time.Duration, what string, try func() error) error {
	deadline := time.Now().Add(within)
	for {
		err := try()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%s: not within %s: %w", what, within, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}
