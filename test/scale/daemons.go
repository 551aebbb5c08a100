// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

const (
	apiServer = "https://10.10.0.1:6443"
	etcd      = "http://127.0.0.1:2379"
	runDir    = "/run/node"
	auditLog  = runDir + "/audit.log"
	serverCA  = runDir + "/tls/apiserver.crt" // our server borrows the API server's certificate
)

// auditPolicy has a line for each request of an agent or of our server when it
// arrives, and one with how it was answered; none for anybody else's.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [ResponseStarted, Panic]
rules:
- {level: Metadata, users: ["gputally-agent", "system:serviceaccount:gputally:gputally-server"]}
- {level: None}
`

// kwokConfig: with kwok's defaults its heartbeats come late at 1,000 nodes.
const kwokConfig = `apiVersion: config.kwok.x-k8s.io/v1alpha1
kind: KwokConfiguration
options:
  manageAllNodes: false
  manageNodesWithAnnotationSelector: kwok.x-k8s.io/node=fake
  podPlayStageParallelism: 32
  nodePlayStageParallelism: 16
  podsOnNodeSyncParallelism: 16
  nodeLeaseDurationSeconds: 200
  nodeLeaseParallelism: 8
`

// arguments are each daemon's command line. The limits on clients are raised: one
// scheduler and one kwok here do the work of a thousand kubelets.
func arguments(name string) []string {
	bin := runDir + "/bin/"
	config := "--kubeconfig=" + runDir + "/kubeconfig/" + name
	switch name {
	case "etcd":
		return []string{"etcd", "--data-dir", "/run/etcd", "--listen-client-urls", etcd, "--advertise-client-urls", etcd,
			"--listen-peer-urls", "http://127.0.0.1:2380", "--log-level", "warn", "--unsafe-no-fsync", "--quota-backend-bytes", "4294967296"}
	case "apiserver":
		return []string{bin + "kube-apiserver", "--etcd-servers=" + etcd, "--cert-dir=tls", "--secure-port=6443", "--bind-address=0.0.0.0",
			"--advertise-address=10.10.0.1", "--service-cluster-ip-range=10.96.0.0/16", "--service-account-issuer=https://kubernetes.default.svc",
			"--service-account-signing-key-file=tls/service-accounts.key", "--service-account-key-file=tls/service-accounts.pub",
			"--token-auth-file=tls/tokens.csv", "--authorization-mode=RBAC", "--audit-policy-file=audit.yaml", "--audit-log-path=" + auditLog,
			"--max-requests-inflight=2000", "--max-mutating-requests-inflight=1000"}
	case "controller-manager":
		return []string{bin + "kube-controller-manager", config, "--service-account-private-key-file=tls/service-accounts.key",
			"--use-service-account-credentials=true", "--leader-elect=false", "--node-monitor-grace-period=20m", "--root-ca-file=tls/apiserver.crt",
			"--kube-api-qps=1000", "--kube-api-burst=2000", "--concurrent-replicaset-syncs=10", "--concurrent-job-syncs=20"}
	case "scheduler":
		return []string{bin + "kube-scheduler", config, "--leader-elect=false", "--kube-api-qps=2000", "--kube-api-burst=4000"}
	case "kwok":
		return []string{bin + "kwok", "--kubeconfig=" + runDir + "/kubeconfig/admin", "--config=" + runDir + "/kwok.yaml"}
	}
	panic("no daemon is called " + name)
}

// daemon is a program that runs until it is ended.
type daemon struct {
	name string
	cmd  *exec.Cmd
}

// start runs a program; its output goes to the log of its name.
func start(name string, command []string) (*daemon, error) {
	log, err := os.OpenFile(filepath.Join(runDir, "log", name+".log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = runDir, log, log
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return &daemon{name, cmd}, nil
}

// end sends a signal and waits until the program is gone.
func (d *daemon) end(s syscall.Signal) error {
	if err := d.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("end %s: %w", d.name, err)
	}
	_ = d.cmd.Wait() // it was told to
	return nil
}

// cost is what a process has used.
type cost struct {
	peakMiB, nowMiB float64
	cpu             time.Duration
}

// cost reads /proc: the resident memory, its peak, and the time on all CPUs.
func (d *daemon) cost() (c cost, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))
	if err != nil {
		return c, fmt.Errorf("%s does not run any more: %w", d.name, err)
	}
	for line := range strings.Lines(string(status)) {
		var kib float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kib); err == nil {
			c.peakMiB = kib / 1024
		}
		if _, err := fmt.Sscanf(line, "VmRSS: %f kB", &kib); err == nil {
			c.nowMiB = kib / 1024
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", d.cmd.Process.Pid))
	if err != nil {
		return c, err
	}
	_, fields, _ := strings.Cut(string(stat), ") ") // the name may have spaces
	var user, system int64
	if f := strings.Fields(fields); len(f) > 12 {
		_, _ = fmt.Sscan(f[11], &user) // proc(5): utime and stime, in ticks of 10 ms
		_, _ = fmt.Sscan(f[12], &system)
	}
	c.cpu = time.Duration(user+system) * 10 * time.Millisecond
	return c, nil
}

// controlPlane is what runs besides us.
type controlPlane map[string]*daemon

// boot starts the control plane, and kwok last.
func boot(ctx context.Context) (controlPlane, error) {
	if out, err := exec.Command(runDir + "/scripts/configure.sh").CombinedOutput(); err != nil {
		return nil, fmt.Errorf("configure the control plane: %w: %s", err, out)
	}
	for name, text := range map[string]string{"audit.yaml": auditPolicy, "kwok.yaml": kwokConfig} {
		if err := os.WriteFile(filepath.Join(runDir, name), []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	p := controlPlane{}
	if err := p.start("etcd"); err != nil {
		return nil, err
	}
	if err := p.startAPI(ctx); err != nil {
		return nil, err
	}
	for _, name := range []string{"controller-manager", "scheduler", "kwok"} {
		if err := p.start(name); err != nil {
			return nil, err
		}
	}
	return p, nil
}

func (p controlPlane) start(name string) (err error) {
	p[name], err = start(name, arguments(name))
	return err
}

// startAPI starts the API server and waits until it is ready.
func (p controlPlane) startAPI(ctx context.Context) error {
	if err := p.start("apiserver"); err != nil {
		return err
	}
	return until(ctx, 3*time.Minute, 100*time.Millisecond, "the API server is ready", func() error {
		_, err := call(ctx, "GET", "/readyz", "", nil)
		return err
	})
}
