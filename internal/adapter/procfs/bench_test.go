// SPDX-License-Identifier: Apache-2.0

package procfs

import (
	"fmt"
	"os"
	"testing"
)

// What one sample costs for 512 steady processes: 8 GPUs with 64 each.
func BenchmarkSteadyProcesses(b *testing.B) {
	f := tree{b, b.TempDir()}
	var pids []int
	for pid := 1; pid <= 512; pid++ {
		f.process(pid, "python", 42, "0::/kubepods/pod"+uidA+"/"+ctrA)
		pids = append(pids, pid)
	}
	r := f.reader(newClock())
	r.Processes(pids)
	r.Processes(pids)
	for b.Loop() {
		r.Processes(pids)
	}
}

// The same through the kernel's own /proc, of one process.
func BenchmarkSteadyRealProcess(b *testing.B) {
	r := New(Options{})
	pids := []int{os.Getpid()}
	for b.Loop() {
		r.Processes(pids)
	}
}

func BenchmarkPodUsage(b *testing.B) {
	f := tree{b, b.TempDir()}
	for i := range 110 {
		uid := fmt.Sprintf("73dc8baf-43a0-413e-aac2-%012x", i)
		f.usage(true, "/kubepods/burstable/pod"+uid, 1000, 2, 1)
	}
	r := f.reader(newClock())
	for b.Loop() {
		if _, err := r.PodUsage(); err != nil {
			b.Fatal(err)
		}
	}
}
