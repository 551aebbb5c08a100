// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gputally/gputally/test/stage"
)

// metricLines is how much of /metrics is printed.
const metricLines = 24

// printOnce prints one picture of the node and the beginning of its metrics.
func printOnce(ctx context.Context, o options, a *agent, out io.Writer) error {
	top := exec.CommandContext(ctx, filepath.Join(o.bin, "gputally"), "top", "--agent", a.url, "--once")
	top.Stdout, top.Stderr = out, os.Stderr
	if err := top.Run(); err != nil {
		return fmt.Errorf("gputally top: %w", err)
	}
	text, err := a.get(ctx, "/metrics")
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	var ours []string // who holds what: the series that people come for
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimPrefix(line, "# HELP "), "gputally_memory_used_bytes") {
			ours = append(ours, line)
		}
	}
	fmt.Fprintf(out, "\nFrom %s/metrics (%d lines in all):\n", a.url, strings.Count(text, "\n"))
	for _, line := range ours[:min(metricLines, len(ours))] {
		fmt.Fprint(out, "  "+line)
	}
	return nil
}

// watch says what is staged and shows it live.
func watch(ctx context.Context, o options, a *agent, s *stage.Stage, out io.Writer) error {
	introduce(o, a, s, out)
	if !enter(ctx) {
		return ctx.Err()
	}
	top := exec.CommandContext(ctx, filepath.Join(o.bin, "gputally"), "top", "--agent", a.url, "--interval", "1s")
	top.Stdin, top.Stdout, top.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := top.Run(); err != nil && ctx.Err() == nil {
		return fmt.Errorf("gputally top: %w", err)
	}
	fmt.Fprintln(out, "Ended; everything staged was removed.")
	return nil
}

// enter waits for the Enter key; false if the program is told to end first.
func enter(ctx context.Context) bool {
	pressed := make(chan struct{})
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // at the end of the input, too
		close(pressed)
	}()
	select {
	case <-pressed:
		return true
	case <-ctx.Done():
		return false
	}
}

func introduce(o options, a *agent, s *stage.Stage, out io.Writer) {
	fmt.Fprintf(out, "A GPU node on this machine. The GPUs, the kubelet and the API server are\nstand-ins; the agent, NVML's binding and the processes are real.\n\n")
	for i, scene := range scenes {
		fmt.Fprintf(out, "  GPU %d  %s\n", i, scene.what)
	}
	fmt.Fprintf(out, `
  metrics         %[1]s/metrics
  the same, JSON  %[1]s/api/v1/node
  usage records   %[2]s
  agent's log     %[3]s
  NVML's state    %[4]s 
                  (edit it: the agent sees that within a second)

While it runs, try in another terminal:
  curl -s %[1]s/metrics | grep gputally_
  %[5]s top --agent %[1]s --json

In the view: f shows the leaks with their evidence, g groups by pod, ? explains
the bar, q ends. Press Enter to begin. `, a.url, a.spool, a.log, s.NVML.Path(), filepath.Join(o.bin, "gputally"))
}
