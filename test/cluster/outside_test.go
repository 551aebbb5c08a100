// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gputally/gputally/test/cluster/image"
)

// refusal says why this machine cannot carry the node, or nothing.
func refusal() string {
	if os.Geteuid() != 0 {
		return "the node needs root (namespaces, mounts, device nodes); run it as root"
	}
	packages := map[string]string{
		"etcd": "etcd-server", "runc": "runc", "ip": "iproute2", "/usr/lib/cni/bridge": "containernetworking-plugins",
		"openssl": "openssl", "curl": "curl", "gcc": "gcc", "make": "make", "unshare": "util-linux", "pgrep": "procps",
		"g++": "g++", "nft": "nftables",
	}
	var missing []string
	for program, pkg := range packages {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, pkg)
		}
	}
	if len(missing) > 0 {
		return "programs are missing: apt-get install -y --no-install-recommends " + strings.Join(missing, " ")
	}
	out, err := exec.Command("unshare", "--mount", "--net", "--pid", "--cgroup", "--ipc", "--uts", "--fork",
		"mount", "-t", "tmpfs", "probe", "/mnt").CombinedOutput()
	if err != nil {
		return fmt.Sprintf("this machine refuses namespaces or mounts: %v: %s", err, bytes.TrimSpace(out))
	}
	return ""
}

// runInside starts a node, runs this test binary inside it and returns its exit code.
// The node ends with it.
func runInside() (code int, err error) {
	sweep()
	run, err := os.MkdirTemp("/var/tmp", "gputally-node.")
	if err != nil {
		return 1, fmt.Errorf("make run folder: %w", err)
	}
	if err := os.WriteFile(filepath.Join(run, "owner.pid"), []byte(strconv.Itoa(os.Getpid())), 0o644); err != nil {
		return 1, fmt.Errorf("sign run folder: %w", err)
	}
	if err := prepare(run); err != nil {
		return 1, errors.Join(err, os.RemoveAll(run))
	}
	bin, err := script("./build.sh")
	if err != nil {
		return 1, errors.Join(err, os.RemoveAll(run))
	}
	if os.Getenv(vmVar) == "1" {
		return runInVM(run, strings.TrimSpace(bin))
	}
	stop, err := up(run, strings.TrimSpace(bin))
	defer func() { err = errors.Join(err, stop()) }()
	if err != nil {
		return 1, err
	}
	cmd := exec.Command("node/in.sh", append([]string{"/run/node/cluster.test"}, os.Args[1:]...)...)
	cmd.Env = append(os.Environ(), "NODE="+run, insideVar+"=1")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	if err != nil || os.Getenv("GPUTALLY_CLUSTER_KEEP_LOGS") == "1" {
		err = errors.Join(err, keepLogs(run))
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

// vmVar asks for an emulated machine with cgroup v2 instead of namespaces on this one.
const vmVar = "GPUTALLY_CLUSTER_VM"

// runInVM does what runInside does, in an emulated machine.
func runInVM(run, bin string) (code int, err error) {
	defer func() { err = errors.Join(err, os.RemoveAll(run)) }()
	cmd := exec.Command("vm/vm.sh", os.Args[1:]...)
	cmd.Env = append(os.Environ(), "NODE="+run, "BIN="+bin)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return 1, fmt.Errorf("run in the emulated machine: %w", err)
	}
	return 0, nil
}

// sweep removes what a run that was killed has left: its node died with it, its
// folders did not.
func sweep() {
	left, _ := filepath.Glob("/var/tmp/gputally-node.*")
	for _, run := range left {
		owner, err := os.ReadFile(filepath.Join(run, "owner.pid"))
		if err != nil {
			continue // just being made
		}
		if comm, _ := os.ReadFile("/proc/" + string(owner) + "/comm"); strings.Contains(string(comm), "test") {
			continue
		}
		fmt.Fprintf(os.Stderr, "cluster: removing what an earlier run left in %s\n", run)
		_, _ = script("node/down.sh", "NODE="+run)
	}
}

// prepare fills the run folder: our programs, the mock library, images and this binary.
func prepare(run string) error {
	began := time.Now()
	steps := []struct{ name, command string }{
		{"gputally", "go build -o " + run + "/gputally/ ../../cmd/gputally-agent ../../cmd/gputally"},
		{"the mock NVML", "make -s -C ../mocknvml && cp ../mocknvml/build/libnvidia-ml.so.1 " + run + "/"},
		{"the pods' program", "CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o " + run + "/holder ./holder"},
	}
	for _, s := range steps {
		cmd := exec.Command("sh", "-c", s.command)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("build %s: %w\n%s", s.name, err, out)
		}
	}
	if err := writeImages(run); err != nil {
		return err
	}
	if err := deliver(run); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find the test binary: %w", err)
	}
	if err := copyFile(filepath.Join(run, "cluster.test"), self); err != nil {
		return fmt.Errorf("copy the test binary: %w", err)
	}
	fmt.Fprintf(os.Stderr, "cluster: our programs are ready after %.1f s\n", time.Since(began).Seconds())
	return nil
}

func writeImages(run string) error {
	program, err := os.ReadFile(filepath.Join(run, "holder"))
	if err != nil {
		return fmt.Errorf("read the pods' program: %w", err)
	}
	images := map[string]image.Image{
		"pause":  {Reference: "docker.io/gputally/pause:1", Entry: "/pause", Program: program},
		"holder": {Reference: holderImage, Entry: "/holder", Program: program},
		// As CUDA's base images do.
		"cuda": {Reference: cudaImage, Entry: "/holder", Program: program,
			Env: []string{"NVIDIA_VISIBLE_DEVICES=all", "NVIDIA_DRIVER_CAPABILITIES=compute,utility"}},
	}
	if err := os.MkdirAll(filepath.Join(run, "images"), 0o755); err != nil {
		return fmt.Errorf("make image folder: %w", err)
	}
	for name, img := range images {
		var b bytes.Buffer
		if err := img.Write(&b); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(run, "images", name+".tar"), b.Bytes(), 0o644); err != nil {
			return fmt.Errorf("write image %s: %w", name, err)
		}
	}
	return nil
}

// up starts the node. The returned function ends it, whatever up said.
func up(run, bin string) (stop func() error, err error) {
	hold, lifeline, err := os.Pipe() // the node ends when lifeline closes, so also when we are killed
	if err != nil {
		return func() error { return nil }, fmt.Errorf("make pipe: %w", err)
	}
	stop = func() error {
		lifeline.Close()
		_, err := script("node/down.sh", "NODE="+run)
		return err
	}
	cmd := exec.Command("node/up.sh")
	cmd.Env = append(os.Environ(), "NODE="+run, "BIN="+bin)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = hold, os.Stderr, os.Stderr
	err = cmd.Run()
	hold.Close()
	if err != nil {
		return stop, errors.Join(fmt.Errorf("start the node: %w", err), keepLogs(run))
	}
	return stop, nil
}

// keepLogs copies the daemons' logs to where they outlive the node, for whoever
// looks into a failure (or always, with GPUTALLY_CLUSTER_KEEP_LOGS=1).
func keepLogs(run string) error {
	const kept = "/var/tmp/gputally-cluster-logs"
	if err := os.RemoveAll(kept); err != nil {
		return fmt.Errorf("clear old logs: %w", err)
	}
	if err := os.CopyFS(kept, os.DirFS(filepath.Join(run, "log"))); err != nil {
		return fmt.Errorf("keep logs: %w", err)
	}
	fmt.Fprintf(os.Stderr, "cluster: the logs are in %s\n", kept)
	return nil
}

// script runs one of our scripts with more environment and returns its standard output.
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

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}
