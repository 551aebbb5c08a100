// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// The images of the test pods, made by writeImages.
const (
	holderImage = "docker.io/gputally/holder:1"
	cudaImage   = "docker.io/gputally/cuda:1" // says NVIDIA_VISIBLE_DEVICES=all
)

// pod is the part of a Pod object that scenarios look at.
type pod struct {
	header
	Spec struct {
		Containers []struct {
			Image string `json:"image"`
		} `json:"containers"`
	} `json:"spec"`
	Status struct {
		Phase                 string            `json:"phase"`
		PodIP                 string            `json:"podIP"`
		ContainerStatuses     []containerStatus `json:"containerStatuses"`
		InitContainerStatuses []containerStatus `json:"initContainerStatuses"`
	} `json:"status"`
}

type containerStatus struct {
	Name        string                    `json:"name"`
	ContainerID string                    `json:"containerID"`
	Ready       bool                      `json:"ready"`
	State       map[string]map[string]any `json:"state"`
}

// shortID is the beginning of the container's id, as people write it.
func (c containerStatus) shortID() string {
	_, id, _ := strings.Cut(c.ContainerID, "://")
	return id[:12]
}

func podPath(name string) string { return "/api/v1/namespaces/default/pods/" + name }

// running waits until the named container of a pod runs, and returns the pod and the
// node's id of the container's process. An empty container means the only one.
func running(t *testing.T, name, container string) (pod, int) {
	t.Helper()
	return runningIn(t, "default", name, container)
}

func runningIn(t *testing.T, namespace, name, container string) (pod, int) {
	t.Helper()
	var p pod
	var pid int
	eventually(t, fmt.Sprintf("pod %s container %q runs", name, container), func() error {
		p = pod{}
		if err := get("/api/v1/namespaces/"+namespace+"/pods/"+name, &p); err != nil {
			return err
		}
		for _, c := range append(p.Status.InitContainerStatuses, p.Status.ContainerStatuses...) {
			if container != "" && c.Name != container {
				continue
			}
			if c.State["running"] == nil {
				return fmt.Errorf("state is %v", c.State)
			}
			_, id, _ := strings.Cut(c.ContainerID, "://")
			var err error
			pid, err = firstProcess(id)
			return err
		}
		return fmt.Errorf("no such container in status %+v", p.Status)
	})
	return p, pid
}

// ended waits until the pod's phase is Succeeded or Failed.
func ended(t *testing.T, name string) pod {
	t.Helper()
	var p pod
	eventually(t, "pod "+name+" ends", func() error {
		p = pod{}
		if err := get(podPath(name), &p); err != nil {
			return err
		}
		if p.Status.Phase != "Succeeded" && p.Status.Phase != "Failed" {
			return fmt.Errorf("phase is %q", p.Status.Phase)
		}
		return nil
	})
	return p
}

// firstProcess finds the process of a container by the container's cgroup.
func firstProcess(containerID string) (int, error) {
	root := "/sys/fs/cgroup"
	if _, err := os.Stat(root + "/pids"); err == nil {
		root += "/pids" // cgroup v1
	}
	found := errors.New("found")
	var pid int
	err := filepath.WalkDir(root+"/kubepods", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != containerID {
			return nil // cgroups come and go while we walk
		}
		procs, err := os.ReadFile(path + "/cgroup.procs")
		if err != nil {
			return err
		}
		line, _, _ := strings.Cut(string(procs), "\n")
		if pid, err = strconv.Atoi(line); err != nil {
			return fmt.Errorf("cgroup %s holds no process", path)
		}
		return found
	})
	if err == found {
		return pid, nil
	}
	if err == nil {
		err = fmt.Errorf("no cgroup of container %s below %s", containerID, root)
	}
	return 0, err
}

// podOfJob waits until a Job has its pod, and returns the pod's name.
func podOfJob(t *testing.T, job string) string {
	t.Helper()
	var name string
	eventually(t, "job "+job+" has a pod", func() error {
		var list struct{ Items []header }
		if err := get("/api/v1/namespaces/default/pods?labelSelector=job-name%3D"+job, &list); err != nil {
			return err
		}
		if len(list.Items) != 1 {
			return fmt.Errorf("it has %d", len(list.Items))
		}
		name = list.Items[0].Metadata.Name
		return nil
	})
	return name
}

// canOpen checks that a process sees the device nodes of exactly these cards.
func canOpen(t *testing.T, pid int, cards ...string) {
	t.Helper()
	for uuid, node := range map[string]string{gpuA: "nvidia0", gpuB: "nvidia1"} {
		_, err := os.Stat(fmt.Sprintf("/proc/%d/root/dev/%s", pid, node))
		if sees, want := err == nil, slices.Contains(cards, uuid); sees != want {
			t.Errorf("process %d sees /dev/%s: %v, want %v", pid, node, sees, want)
		}
	}
}
