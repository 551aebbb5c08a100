// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
	"github.com/gputally/gputally/internal/core/gpu"
)

// scenario is a set of programs that allocate at once on one GPU.
type scenario struct {
	name    string
	mib     []uint64
	managed bool
}

var scenarios = []scenario{
	{name: "one process, a context and nothing else", mib: []uint64{0}},
	{name: "one process, 1024 MiB", mib: []uint64{1024}},
	{name: "three processes on one GPU, 512, 1024 and 2048 MiB", mib: []uint64{512, 1024, 2048}},
	{name: "one process, 1024 MiB of managed memory", mib: []uint64{1024}, managed: true},
}

// outcome is what was seen while a scenario ran.
type outcome struct {
	scenario scenario
	held     []*holder
	result   *attribution.Result
	smi      map[int]string
}

// holder is one running program and what it allocated.
type holder struct {
	cmd   *exec.Cmd
	stdin io.Closer
	pid   int
	bytes uint64
}

func (s scenario) play(o options, a *agent) (*outcome, error) {
	out := &outcome{scenario: s}
	defer func() {
		for _, h := range out.held {
			h.release()
		}
	}()
	for _, mib := range s.mib {
		h, err := hold(o, mib, s.managed)
		if err != nil {
			return nil, err
		}
		out.held = append(out.held, h)
	}
	var err error
	if out.result, err = a.settled(); err != nil {
		return nil, err
	}
	out.smi = computeApps()
	return out, nil
}

// hold starts a program and waits until it has its memory.
func hold(o options, mib uint64, managed bool) (*holder, error) {
	kind := "device"
	if managed {
		kind = "managed"
	}
	cmd := exec.Command(o.hold, strconv.Itoa(o.device), strconv.FormatUint(mib, 10), kind)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", o.hold, err)
	}
	h := &holder{cmd: cmd, stdin: stdin}
	if err := h.await(stdout); err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

func (h *holder) await(stdout io.Reader) error {
	lines := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(stdout).ReadString('\n')
		lines <- line
	}()
	select {
	case line := <-lines:
		if _, err := fmt.Sscanf(line, "ready %d %d", &h.pid, &h.bytes); err != nil {
			return errors.New("the allocating program ended before it had its memory")
		}
		return nil
	case <-time.After(30 * time.Second):
		return errors.New("the allocating program did not get its memory in 30 s")
	}
}

func (h *holder) release() {
	_ = h.stdin.Close()
	_ = h.cmd.Wait()
}

// computeApps is nvidia-smi's list of processes, where the program exists:
// another reader of the same library.
func computeApps() map[int]string {
	text, err := exec.Command("nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader").Output()
	if err != nil {
		return nil
	}
	out := map[int]string{}
	for line := range strings.Lines(string(text)) {
		pid, used, ok := strings.Cut(strings.TrimSpace(line), ", ")
		if n, err := strconv.Atoi(pid); ok && err == nil {
			out[n] = used
		}
	}
	return out
}

// found is what the agent says a process's holder has, on whichever GPU.
func found(r *attribution.Result, pid int) (attribution.Partition, attribution.Holding, bool) {
	for _, p := range r.Partitions {
		for _, h := range p.Holdings {
			for _, q := range h.PIDs {
				if q == pid {
					return p, h, true
				}
			}
		}
	}
	return attribution.Partition{}, attribution.Holding{}, false
}

func mib(b *uint64) string {
	if b == nil {
		return "unknown"
	}
	return strconv.FormatFloat(float64(*b)/gpu.MiB, 'f', 1, 64)
}
