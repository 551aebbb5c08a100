// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"cmp"
	"errors"
	"fmt"
	"hash/crc32"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// PodSpec is a pod to be put on the stage.
type PodSpec struct {
	Namespace, Name string
	// Container is the name of its only container; "main" if empty.
	Container string
	// Resource and Devices are what the kubelet gave it; none is no grant.
	Resource string
	Devices  []string
	// Claims are ResourceClaims of its namespace, put on the stage by Allocate, that
	// the kubelet prepared for it.
	Claims []string
	// Env are its variables, as /proc/PID/environ has them.
	Env map[string]string
	// Owner is the workload that it belongs to.
	Owner Owner
	// Labels and Annotations are those of its object, Scheduler the one that it
	// names, if not Kubernetes' own.
	Labels, Annotations map[string]string
	Scheduler           string
	// IP is its address, of which the kubelet tells the API server; "" for none.
	IP string
	// CPUMilli and MemoryBytes are its requests.
	CPUMilli, MemoryBytes int64
}

// Pod is a running pod.
type Pod struct {
	Spec        PodSpec
	UID         string
	ContainerID string

	stage     *Stage
	processes []*Process
	cpuMicros uint64
}

// Run puts a pod on the stage: its object, its grant and its cgroup.
func (s *Stage) Run(spec PodSpec) (*Pod, error) {
	if spec.Container == "" {
		spec.Container = "main"
	}
	s.mu.Lock()
	s.pods++
	n := s.pods
	s.mu.Unlock()
	series := crc32.ChecksumIEEE([]byte(s.Node))
	p := &Pod{
		Spec: spec, stage: s, UID: fmt.Sprintf("%08x-0000-4000-a000-%012x", series, n), ContainerID: fmt.Sprintf("%08x%056x", series, n),
	}
	if err := p.admit(); err != nil {
		return nil, err
	}
	return p, s.cgroup.setUsage(p.UID, 0, 64<<20)
}

// admit tells the API server and the kubelet of the pod.
func (p *Pod) admit() error {
	owner, err := p.stage.own(p.Spec)
	if err != nil {
		return err
	}
	given, err := p.claimed()
	if err != nil {
		return err
	}
	if err := p.stage.API.Put(p.path(), p.object(owner)); err != nil {
		return err
	}
	c := &podresourcesv1.ContainerResources{Name: p.Spec.Container, DynamicResources: given}
	if len(p.Spec.Devices) > 0 {
		c.Devices = []*podresourcesv1.ContainerDevices{{ResourceName: p.Spec.Resource, DeviceIds: p.Spec.Devices}}
	}
	if len(c.Devices)+len(given) > 0 {
		p.stage.Kubelet.grant(&podresourcesv1.PodResources{
			Namespace: p.Spec.Namespace, Name: p.Spec.Name, Containers: []*podresourcesv1.ContainerResources{c},
		})
	}
	return nil
}

func (p *Pod) path() string {
	return "/api/v1/namespaces/" + p.Spec.Namespace + "/pods/" + p.Spec.Name
}

func (p *Pod) object(owner []metav1.OwnerReference) corev1.Pod {
	now := metav1.NewTime(time.Now().Truncate(time.Second))
	requests := corev1.ResourceList{}
	if p.Spec.CPUMilli > 0 {
		requests[corev1.ResourceCPU] = *resource.NewMilliQuantity(p.Spec.CPUMilli, resource.DecimalSI)
	}
	if p.Spec.MemoryBytes > 0 {
		requests[corev1.ResourceMemory] = *resource.NewQuantity(p.Spec.MemoryBytes, resource.BinarySI)
	}
	limits := corev1.ResourceList{}
	if len(p.Spec.Devices) > 0 {
		limits[corev1.ResourceName(p.Spec.Resource)] = *resource.NewQuantity(int64(len(p.Spec.Devices)), resource.DecimalSI)
	}
	return corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: p.Spec.Namespace, Name: p.Spec.Name, UID: types.UID(p.UID), CreationTimestamp: now,
			Labels: p.Spec.Labels, Annotations: p.Spec.Annotations, OwnerReferences: owner,
		},
		Spec: corev1.PodSpec{
			NodeName: p.stage.Node, SchedulerName: cmp.Or(p.Spec.Scheduler, corev1.DefaultSchedulerName), ResourceClaims: p.claims(),
			Containers: []corev1.Container{{Name: p.Spec.Container, Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
		},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, PodIP: p.Spec.IP, QOSClass: corev1.PodQOSBurstable, StartTime: &now,
			ContainerStatuses: []corev1.ContainerStatus{{
				Name: p.Spec.Container, ContainerID: "containerd://" + p.ContainerID, Ready: true,
				State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
			}},
		},
	}
}

// Process starts a process in the pod's container.
func (p *Pod) Process(comm string) (*Process, error) {
	cgroup := containerCgroup(p.UID, p.ContainerID)
	proc, err := p.stage.start(cgroup, comm, p.Spec.Env)
	if err != nil {
		return nil, fmt.Errorf("pod %s/%s: %w", p.Spec.Namespace, p.Spec.Name, err)
	}
	p.processes = append(p.processes, proc)
	return proc, p.stage.cgroup.setProcesses(cgroup, p.pids())
}

func (p *Pod) pids() []int {
	var pids []int
	for _, proc := range p.processes {
		pids = append(pids, proc.PID)
	}
	return pids
}

// Work adds CPU time to what the pod has used, and sets its memory.
func (p *Pod) Work(cpu time.Duration, memory uint64) error {
	p.cpuMicros += uint64(cpu.Microseconds())
	return p.stage.cgroup.setUsage(p.UID, p.cpuMicros, memory)
}

// Remove ends the pod: its processes, grant, object and cgroup.
func (p *Pod) Remove() error {
	var err error
	for _, proc := range p.processes {
		err = errors.Join(err, proc.End())
	}
	p.processes = nil
	p.stage.Kubelet.revoke(p.Spec.Namespace, p.Spec.Name)
	err = errors.Join(err, p.release())
	p.stage.API.Delete(p.path())
	return errors.Join(err, p.stage.cgroup.remove(p.UID))
}
