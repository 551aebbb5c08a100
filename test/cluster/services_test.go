// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// service starts, stops or kills one daemon of the node. A daemon's output is a file,
// so it must not inherit ours: we would wait for it to end.
func service(t *testing.T, verb, name string, env ...string) {
	t.Helper()
	cmd := exec.Command("/run/node/scripts/service.sh", verb, name)
	cmd.Env = append(os.Environ(), env...)
	out, err := os.CreateTemp("", "service")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		t.Fatalf("%s %s: %v: %s", verb, name, err, said)
	}
}

// devicePlugin runs NVIDIA's device plugin with a configuration until the test ends.
func devicePlugin(t *testing.T, config string, env ...string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "plugin.yaml")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	service(t, "start", "device-plugin", append(env, "PLUGIN_CONFIG="+file)...)
	t.Cleanup(func() {
		service(t, "stop", "device-plugin")
		noneOffered(t)
	})
}

// noneOffered waits until the node offers no GPU: the next plugin's pods must not be
// scheduled on what the last one offered.
func noneOffered(t *testing.T) {
	t.Helper()
	eventually(t, "the node offers no GPU", func() error {
		var node struct {
			Status struct{ Allocatable map[string]string }
		}
		if err := get("/api/v1/nodes/gpu-node-1", &node); err != nil {
			return err
		}
		for resource, n := range node.Status.Allocatable {
			if strings.HasPrefix(resource, "nvidia.com/") && n != "0" {
				return fmt.Errorf("it offers %s: %s", resource, n)
			}
		}
		return nil
	})
}

// draDriver runs NVIDIA's DRA driver until the test ends.
func draDriver(t *testing.T) {
	t.Helper()
	service(t, "start", "dra-driver")
	// A pod that comes before the kubelet knows the driver is tried again only after a
	// minute. The kubelet says so nowhere but in its log.
	draRegistered(t, true)
	t.Cleanup(func() {
		service(t, "stop", "dra-driver")
		draRegistered(t, false)
		removeAll(t, "/apis/resource.k8s.io/v1/resourceslices")
	})
}

// draRegistered waits until the kubelet's last word on the DRA driver's connection is this.
func draRegistered(t *testing.T, want bool) {
	t.Helper()
	eventually(t, fmt.Sprintf("the kubelet's connection to the DRA driver is %v", want), func() error {
		log, err := os.ReadFile("/run/node/log/kubelet.log")
		if err != nil {
			return err
		}
		last := ""
		for line := range strings.Lines(string(log)) {
			if strings.Contains(line, `"Connection changed"`) && strings.Contains(line, `driverName="gpu.nvidia.com"`) {
				last = line
			}
		}
		if !strings.Contains(last, fmt.Sprintf("connected=%v", want)) {
			return fmt.Errorf("its log ends with %q", last)
		}
		return nil
	})
}

// startProcess runs one of our programs until the test ends, which must be without
// an error.
func startProcess(t *testing.T, logFile, program string, args ...string) {
	t.Helper()
	log, err := os.OpenFile(logFile, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(log, "--- %s\n", t.Name())
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", program, err)
	}
	t.Cleanup(func() {
		if err := errors.Join(cmd.Process.Signal(syscall.SIGTERM), cmd.Wait(), log.Close()); err != nil {
			t.Errorf("end %s: %v", program, err)
		}
	})
}
