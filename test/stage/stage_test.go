// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

func TestMain(m *testing.M) {
	HolderMain()
	os.Exit(m.Run())
}

func newStage(t *testing.T) *Stage {
	t.Helper()
	s, err := New(t.TempDir(), "node-a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestPodLives: a pod has an object, a grant, a cgroup and a living process
// under its name, and all of them go with it.
func TestPodLives(t *testing.T) {
	s := newStage(t)
	p, err := s.Run(PodSpec{Namespace: "ns", Name: "a", Resource: "nvidia.com/gpu", Devices: []string{"GPU-1"}})
	if err != nil {
		t.Fatal(err)
	}
	proc, err := p.Process("trainer")
	if err != nil {
		t.Fatal(err)
	}
	real, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", proc.PID))
	if err != nil || strings.TrimSpace(string(real)) != "trainer" {
		t.Errorf("the process is %q: %v", real, err)
	}
	staged := filepath.Join(s.ProcRoot(), fmt.Sprint(proc.PID))
	cgroup, err := os.ReadFile(filepath.Join(staged, "cgroup"))
	if err != nil || !strings.Contains(string(cgroup), "_0000_4000_a000_000000000001.slice/cri-containerd-") {
		t.Errorf("cgroup %q: %v", cgroup, err)
	}
	if got := granted(t, s); got != "ns/a nvidia.com/gpu [GPU-1]" {
		t.Errorf("granted %q", got)
	}
	if err := p.Remove(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(fmt.Sprintf("/proc/%d", proc.PID)); err == nil {
		t.Error("the process lives on")
	}
	if _, err := os.Stat(staged); err == nil {
		t.Error("the staged process stays")
	}
	if got := granted(t, s); got != "" {
		t.Errorf("granted %q", got)
	}
}

// granted asks the kubelet stand-in over its socket.
func granted(t *testing.T, s *Stage) string {
	t.Helper()
	conn, err := grpc.NewClient("unix:"+s.Kubelet.Socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	list, err := podresourcesv1.NewPodResourcesListerClient(conn).List(t.Context(), &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, p := range list.PodResources {
		for _, d := range p.Containers[0].Devices {
			out = append(out, fmt.Sprint(p.Namespace, "/", p.Name, " ", d.ResourceName, " ", d.DeviceIds))
		}
		for _, d := range p.Containers[0].DynamicResources {
			out = append(out, fmt.Sprint(p.Namespace, "/", p.Name, " claim ", d.ClaimName, " ", d.ClaimResources[0].DeviceName))
		}
	}
	return strings.Join(out, "; ")
}

// TestWatch: a watch from a list's version shows every later change of its
// node, and nothing else.
func TestWatch(t *testing.T) {
	s := newStage(t)
	put := func(path, node string) {
		t.Helper()
		if err := s.API.Put(path, object{"metadata": object{"name": filepath.Base(path)}, "spec": object{"nodeName": node}}); err != nil {
			t.Fatal(err)
		}
	}
	put("/api/v1/namespaces/ns/pods/before", "node-a")
	var list struct {
		Metadata struct{ ResourceVersion string }
		Items    []struct{ Metadata struct{ Name string } }
	}
	get(t, s, "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode-a", func(r *bufio.Reader) {
		if err := json.NewDecoder(r).Decode(&list); err != nil {
			t.Fatal(err)
		}
	})
	if len(list.Items) != 1 || list.Items[0].Metadata.Name != "before" {
		t.Fatalf("listed %+v", list.Items)
	}
	put("/api/v1/namespaces/ns/pods/a", "node-a")
	put("/api/v1/namespaces/ns/pods/elsewhere", "node-b")
	get(t, s, "/api/v1/pods?watch=true&fieldSelector=spec.nodeName%3Dnode-a&resourceVersion="+list.Metadata.ResourceVersion, func(r *bufio.Reader) {
		dec := json.NewDecoder(r)
		next := func() string {
			var e struct {
				Type   string
				Object struct{ Metadata struct{ Name string } }
			}
			if err := dec.Decode(&e); err != nil {
				t.Fatal(err)
			}
			return e.Type + " " + e.Object.Metadata.Name
		}
		if got := next(); got != "ADDED a" {
			t.Errorf("first %s", got)
		}
		put("/api/v1/namespaces/ns/pods/a", "node-a")
		s.API.Delete("/api/v1/namespaces/ns/pods/a")
		if got := next() + ", " + next(); got != "MODIFIED a, DELETED a" {
			t.Errorf("then %s", got)
		}
	})
}

func get(t *testing.T, s *Stage, path string, read func(*bufio.Reader)) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.API.Address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", path, resp.Status)
	}
	read(bufio.NewReader(resp.Body))
}

// TestPodObject: a pod's object names its owner, which leads to a Deployment, and
// its claims are reserved for it until it goes.
func TestPodObject(t *testing.T) {
	s := newStage(t)
	if err := s.Allocate("ns", "shared", "gpu-0"); err != nil {
		t.Fatal(err)
	}
	p, err := s.Run(PodSpec{Namespace: "ns", Name: "web-5d8f-abcde", Owner: Owner{"Deployment", "web"}, Labels: map[string]string{"team": "a"}, Scheduler: "kai-scheduler", Claims: []string{"shared"}})
	if err != nil {
		t.Fatal(err)
	}
	pod := read(t, s, "/api/v1/namespaces/ns/pods/web-5d8f-abcde")
	set := read(t, s, "/apis/apps/v1/namespaces/ns/replicasets/web-5d8f")
	claim := read(t, s, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/shared")
	for _, c := range [][2]string{
		{pod, `"team":"a"`}, {pod, `"kind":"ReplicaSet","name":"web-5d8f"`}, {pod, `"schedulerName":"kai-scheduler"`},
		{set, `"kind":"Deployment","name":"web"`}, {claim, p.UID},
	} {
		if !strings.Contains(c[0], c[1]) {
			t.Errorf("%s is not in %s", c[1], c[0])
		}
	}
	if got := granted(t, s); got != "ns/web-5d8f-abcde claim shared gpu-0" {
		t.Errorf("granted %q", got)
	}
	if err := p.Remove(); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(read(t, s, "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims/shared"), p.UID) {
		t.Error("the claim is still reserved for a pod that is gone")
	}
	if _, err := s.Run(PodSpec{Namespace: "ns", Name: "b", Claims: []string{"missing"}}); err == nil || !strings.Contains(err.Error(), "there is no claim missing") {
		t.Errorf("a claim that is not there: %v", err)
	}
}

// read is an object of the API server stand-in, as text.
func read(t *testing.T, s *Stage, path string) string {
	t.Helper()
	resp, err := http.Get("http://" + s.API.Address + path)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s: %v", path, resp.Status, err)
	}
	return string(text)
}
