// SPDX-License-Identifier: Apache-2.0

// Command gpucheck compares gputally with a physical GPU: small programs
// allocate known amounts of memory through CUDA's driver API, alone and
// several on one GPU, and the agent must find each of them. It writes what
// NVML says, what the agent says and what the mock library would say, side by
// side, as Markdown for docs/hardware-check.md.
//
// It changes no setting of a GPU. hack/gpu-check.sh builds what it needs and
// runs it.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

// options are the command line.
type options struct {
	agent, hold, nvml, mock, out string
	device                       int
	// state is the mock's state file where nvml is the mock, as in tests.
	state string
}

func main() {
	var o options
	flag.StringVar(&o.agent, "agent", "bin/gputally-agent", "the agent `program`")
	flag.StringVar(&o.hold, "hold", "bin/hold", "the `program` that allocates (test/gpucheck/hold/hold.c)")
	flag.StringVar(&o.nvml, "nvml", "", "NVML `library`; empty: where drivers install it")
	flag.StringVar(&o.mock, "mock", "test/mocknvml/build/libnvidia-ml.so.1", "the mock `library` to compare with; empty: none")
	flag.StringVar(&o.out, "out", "docs/hardware-check.md", "`file` to write")
	flag.IntVar(&o.device, "device", 0, "CUDA `index` of the GPU to allocate on")
	flag.Parse()
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "gpucheck:", err)
		os.Exit(1)
	}
}

func run(o options) error {
	agent, err := startAgent(o.agent, o.nvml, o.state)
	if err != nil {
		return err
	}
	defer agent.stop()
	before, err := agent.settled()
	if err != nil {
		return err
	}
	rep := newReport(before)
	for _, s := range scenarios {
		fmt.Fprintf(os.Stderr, "gpucheck: %s\n", s.name)
		out, err := s.play(o, agent)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rep.add(out)
	}
	if o.mock != "" {
		if err := rep.compareMock(o); err != nil {
			return err
		}
	}
	if err := os.WriteFile(o.out, []byte(rep.markdown(time.Now())), 0o644); err != nil {
		return err
	}
	fmt.Printf("written to %s: %d checks, %d failed\n", o.out, rep.checks, rep.failed)
	if rep.failed > 0 {
		return fmt.Errorf("%d checks failed; see %s", rep.failed, o.out)
	}
	return nil
}
