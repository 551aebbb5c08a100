// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gputally/gputally/test/mocknvml"
)

// Stage is a GPU node. Its folder holds everything an agent is pointed at.
type Stage struct {
	Dir, Node string
	// NVML is the state of the mock library. Call Write after changing it.
	NVML    *mocknvml.State
	Kubelet *Kubelet
	API     *APIServer

	proc   procRoot
	cgroup cgroupRoot

	mu        sync.Mutex
	processes map[int]*Process
	pods      int
	claims    map[string]*resourcev1.ResourceClaim // by namespace/name
}

// New builds a stage in a folder that exists and is empty. Close ends it; the
// folder is the caller's.
func New(dir, node string) (*Stage, error) {
	s := &Stage{
		Dir: dir, Node: node, processes: map[int]*Process{}, claims: map[string]*resourcev1.ResourceClaim{},
		NVML:   mocknvml.NewState(filepath.Join(dir, "nvml-state")),
		proc:   procRoot(filepath.Join(dir, "proc")),
		cgroup: cgroupRoot(filepath.Join(dir, "cgroup")),
	}
	s.NVML.Option("reap=1")
	if err := errors.Join(s.proc.make(), s.cgroup.make()); err != nil {
		return nil, err
	}
	var err error
	if s.Kubelet, err = startKubelet(filepath.Join(dir, "kubelet.sock")); err != nil {
		return nil, err
	}
	if s.API, err = startAPIServer(); err != nil {
		s.Kubelet.stop()
		return nil, err
	}
	if err := os.WriteFile(s.Kubeconfig(), []byte(s.kubeconfig()), 0o600); err != nil {
		s.Close()
		return nil, fmt.Errorf("build stage: %w", err)
	}
	return s, nil
}

// Close ends every process of the stage and its servers.
func (s *Stage) Close() {
	s.mu.Lock()
	all := make([]*Process, 0, len(s.processes))
	for _, p := range s.processes {
		all = append(all, p)
	}
	s.mu.Unlock()
	for _, p := range all {
		p.end()
	}
	s.Kubelet.stop()
	s.API.stop()
}

// ProcRoot is the staged /proc, CgroupRoot the staged /sys/fs/cgroup.
func (s *Stage) ProcRoot() string { return string(s.proc) }

// CgroupRoot is the staged /sys/fs/cgroup.
func (s *Stage) CgroupRoot() string { return string(s.cgroup) }

// Kubeconfig is a file that leads to the API server stand-in.
func (s *Stage) Kubeconfig() string { return filepath.Join(s.Dir, "kubeconfig") }

func (s *Stage) kubeconfig() string {
	return fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: stage
clusters: [{name: stage, cluster: {server: "http://%s"}}]
users: [{name: stage, user: {}}]
contexts: [{name: stage, context: {cluster: stage, user: stage}}]
`, s.API.Address)
}

// SetNode stores the Node object, with the labels and counts of resources that
// a device plugin and feature discovery would give it.
func (s *Stage) SetNode(labels map[string]string, resources corev1.ResourceList) error {
	return s.SetMachine(Machine{Labels: labels, Resources: resources})
}

// Machine is what the API server says of a node.
type Machine struct {
	// ProviderID is spec.providerID, Created when its object was made.
	ProviderID string
	Created    time.Time
	Labels     map[string]string
	Resources  corev1.ResourceList
}

// SetMachine stores the Node object.
func (s *Stage) SetMachine(m Machine) error {
	return s.API.Put("/api/v1/nodes/"+s.Node, corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{
			Name: s.Node, UID: "00000000-0000-4000-b000-000000000001", Labels: m.Labels, CreationTimestamp: metav1.NewTime(m.Created),
		},
		Spec:   corev1.NodeSpec{ProviderID: m.ProviderID},
		Status: corev1.NodeStatus{Capacity: m.Resources, Allocatable: m.Resources},
	})
}

// Host starts a process of the host, in a cgroup such as
// /system.slice/trainer.service.
func (s *Stage) Host(cgroup, comm string) (*Process, error) {
	return s.start(cgroup, comm, nil)
}

func (s *Stage) start(cgroup, comm string, env map[string]string) (*Process, error) {
	p, err := startProcess(comm)
	if err != nil {
		return nil, err
	}
	p.stage = s
	if err := s.proc.add(p.PID, cgroup, env); err != nil {
		p.end()
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.processes[p.PID] = p
	return p, nil
}

// End ends a process, and takes it out of the staged /proc.
func (p *Process) End() error {
	p.end()
	p.stage.mu.Lock()
	delete(p.stage.processes, p.PID)
	p.stage.mu.Unlock()
	return p.stage.proc.remove(p.PID)
}
