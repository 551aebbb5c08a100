// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"os"
	"os/exec"
	"path/filepath"
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
	t.Cleanup(func() { service(t, "stop", "device-plugin") })
}

// draDriver runs NVIDIA's DRA driver until the test ends.
func draDriver(t *testing.T) {
	t.Helper()
	service(t, "start", "dra-driver")
	t.Cleanup(func() {
		service(t, "stop", "dra-driver")
		removeAll(t, "/apis/resource.k8s.io/v1/resourceslices")
	})
}
