// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

func start(t *testing.T, s *apiServer, o Options) *Cache {
	t.Helper()
	o.Config, o.Node = s.config(), "node-a"
	if o.MaxBackoff == 0 {
		o.MaxBackoff = 10 * time.Millisecond
	}
	c, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func podNamed(o sample.Objects, name string) (found []workload.Pod) {
	for _, p := range o.Pods {
		if p.Name == name {
			found = append(found, p)
		}
	}
	return found
}

func TestObjects(t *testing.T) {
	s := newAPIServer(t)
	s.serveResource("v1", "v1beta1")
	s.put("/api/v1/nodes/node-a", object{"metadata": object{"name": "node-a", "labels": object{"l": "v"}}, "status": object{"allocatable": object{"nvidia.com/gpu": "8"}}})
	s.put("/apis/resource.k8s.io/v1/resourceslices/node-a-gpu", object{
		"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": object{"name": "node-a-gpu"},
		"spec": object{
			"driver": "gpu.nvidia.com", "nodeName": "node-a", "pool": object{"name": "node-a", "generation": 2, "resourceSliceCount": 1},
			"devices": []object{{"name": "gpu-0", "attributes": object{"uuid": object{"string": "GPU-1"}, "type": object{"string": "gpu"}}}},
		},
	})
	claim := func(reserved ...object) object {
		return object{
			"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": object{"name": "shared", "namespace": "default", "uid": "c-1"},
			"status": object{"reservedFor": reserved, "allocation": object{"devices": object{"results": []object{{"request": "g", "driver": "gpu.nvidia.com", "pool": "node-a", "device": "gpu-0"}}}}},
		}
	}
	const claimPath = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/shared"
	s.put(claimPath, claim(object{"resource": "pods", "name": "a", "uid": "u-a"}))
	spec := object{"resourceClaims": []object{{"name": "g", "resourceClaimName": "shared"}}}
	s.pod("a", "u-a", nil, spec, nil)

	c := start(t, s, Options{})
	eventually(t, "the cache is filled", func() bool { o := c.Objects(); return o.Known && len(o.Claims) == 1 })
	pod := workload.Pod{
		Namespace: "default", Name: "a", UID: "u-a", Node: "node-a", Phase: "Running", ClaimNames: []string{"shared"},
		Containers: []workload.Container{{Name: "c", Kind: workload.ContainerApp}},
	}
	want := sample.Objects{
		Known: true,
		Node:  &workload.Node{Name: "node-a", Labels: map[string]string{"l": "v"}, Allocatable: map[string]int64{"nvidia.com/gpu": 8}},
		Pods:  []workload.Pod{pod},
		Claims: []workload.Claim{{
			Namespace: "default", Name: "shared", UID: "c-1", Allocated: true, Reserved: []workload.ClaimConsumer{{Pod: "a", UID: "u-a"}},
			Results: []workload.ClaimResult{{Request: "g", Driver: "gpu.nvidia.com", Pool: "node-a", Device: "gpu-0"}},
		}},
		Slices: []workload.Slice{{
			Name: "node-a-gpu", Driver: "gpu.nvidia.com", Pool: "node-a", Generation: 2, Node: "node-a",
			Devices: []workload.SliceDevice{{Name: "gpu-0", Type: "gpu", UUID: "GPU-1"}},
		}},
	}
	if d := cmp.Diff(want, c.Objects()); d != "" {
		t.Error(d)
	}
	if ok, stale, err := c.Status(); !ok || stale != 0 || err != "" {
		t.Errorf("status %v, %d, %s", ok, stale, err)
	}

	// A second pod joins the claim: it is read again at once, not in a minute.
	s.put(claimPath, claim(object{"resource": "pods", "name": "a", "uid": "u-a"}, object{"resource": "pods", "name": "b", "uid": "u-b"}))
	s.pod("b", "u-b", nil, spec, nil)
	eventually(t, "both pods share the claim", func() bool { o := c.Objects(); return len(o.Claims) == 1 && len(o.Claims[0].Reserved) == 2 })
	s.remove("/apis/resource.k8s.io/v1/resourceslices/node-a-gpu")
	eventually(t, "the slice is gone", func() bool { return len(c.Objects().Slices) == 0 })
	s.remove(claimPath)
	s.remove("/api/v1/pods/a")
	s.remove("/api/v1/pods/b")
	eventually(t, "no pod names the claim", func() bool { return len(c.Objects().Claims) == 0 })
}

// A claim that no pod names any more is known for as long as it keeps its
// device, and not when it got another one, for pods of some other node.
func TestClaimsOfNobody(t *testing.T) {
	const path = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/"
	claim := func(name, device string, reserved ...object) object {
		return object{
			"apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaim", "metadata": object{"name": name, "namespace": "default", "uid": "c-" + name},
			"status": object{"reservedFor": reserved, "allocation": object{"devices": object{"results": []object{{"request": "g", "driver": "gpu.nvidia.com", "pool": "node-a", "device": device}}}}},
		}
	}
	s := newAPIServer(t)
	s.serveResource("v1")
	s.put("/api/v1/nodes/node-a", object{"metadata": object{"name": "node-a"}})
	for i, name := range []string{"kept", "moved", "freed"} {
		s.put(path+name, claim(name, fmt.Sprintf("gpu-%d", i), object{"resource": "pods", "name": name, "uid": "u-" + name}))
		s.pod(name, "u-"+name, nil, object{"resourceClaims": []object{{"name": "g", "resourceClaimName": name}}}, nil)
	}
	c := start(t, s, Options{ClaimsEvery: 20 * time.Millisecond})
	eventually(t, "the claims are read", func() bool { return len(c.Objects().Claims) == 3 })

	s.put(path+"kept", claim("kept", "gpu-0"))
	s.put(path+"moved", claim("moved", "gpu-7", object{"resource": "pods", "name": "far", "uid": "u-far"}))
	freed := claim("freed", "gpu-2")
	delete(freed["status"].(object), "allocation")
	s.put(path+"freed", freed)
	for _, name := range []string{"kept", "moved", "freed"} {
		s.remove("/api/v1/pods/" + name)
	}
	eventually(t, "the claim that keeps its device is left", func() bool {
		o := c.Objects()
		return len(o.Claims) == 1 && o.Claims[0].Name == "kept" && len(o.Claims[0].Reserved) == 0
	})
}

// A claim that is not reserved for a pod which names it was read too early, or
// is an older one of that name: it is read again soon, not in a minute.
func TestClaimReadTooEarly(t *testing.T) {
	claim := workload.Claim{Reserved: []workload.ClaimConsumer{{UID: "a"}, {UID: "b"}}}
	if !reservedForAll(claim, []string{"b", "a"}) || !reservedForAll(claim, nil) {
		t.Error("a claim that is reserved for all its pods would be read again soon")
	}
	if reservedForAll(claim, []string{"a", "c"}) || reservedForAll(workload.Claim{}, []string{"a"}) {
		t.Error("a claim that is not reserved for a pod would be read again late")
	}
	over := podOfClaim("over", "Succeeded")
	use := claimUsers([]podObject{podOfClaim("new", "Running"), over})[claimKey{"ns", "c"}]
	if len(use.alive) != 1 || use.alive[0] != "new" || !strings.Contains(use.text, "over Succeeded") {
		t.Errorf("users are %+v, want new alive and both in the text", use)
	}
}

func podOfClaim(uid, phase string) podObject {
	return podObject{Pod: workload.Pod{Namespace: "ns", Name: uid, UID: uid, Phase: phase, ClaimNames: []string{"c"}}}
}

// Pods, node and slices stay as they were through an outage; what happened
// meanwhile is seen after it, a pod deleted unseen as gone.
func TestOutage(t *testing.T) {
	s := newAPIServer(t)
	s.put("/api/v1/nodes/node-a", object{"metadata": object{"name": "node-a"}})
	s.pod("a", "u-a", nil, nil, nil)
	c := start(t, s, Options{})
	eventually(t, "the cache is filled", func() bool { return c.Objects().Known })
	before := c.Objects()

	s.down()
	eventually(t, "the outage is noticed", func() bool { ok, stale, _ := c.Status(); return !ok && stale > 0 })
	if _, _, err := c.Status(); !strings.HasPrefix(err, "watch ") || !strings.Contains(err, "connection refused") {
		t.Errorf("status says %q", err)
	}
	if d := cmp.Diff(before, c.Objects()); d != "" {
		t.Error(d)
	}
	s.loseHistory(func() { delete(s.objects, "/api/v1/pods/a") })
	s.pod("b", "u-b", nil, nil, nil)
	s.up()
	eventually(t, "b is seen", func() bool { return len(podNamed(c.Objects(), "b")) == 1 })
	eventually(t, "all is well", func() bool { ok, stale, err := c.Status(); return ok && stale == 0 && err == "" })
	if a := podNamed(c.Objects(), "a"); len(a) != 1 || !a[0].Gone {
		t.Errorf("a is %+v", a)
	}
}

func TestStartWithoutAPIServer(t *testing.T) {
	s := newAPIServer(t)
	s.down()
	c := start(t, s, Options{})
	eventually(t, "the failure is told", func() bool { _, _, err := c.Status(); return strings.Contains(err, "connection refused") })
	if c.Objects().Known {
		t.Error("known without an answer")
	}
	s.put("/api/v1/nodes/node-a", object{"metadata": object{"name": "node-a"}})
	s.up()
	eventually(t, "the cache is filled", func() bool { return c.Objects().Known })
}

// A pod replaced under its name stays, gone, beside its successor, and only
// for the grace time and within bounds.
func TestGonePods(t *testing.T) {
	s := newAPIServer(t)
	c := start(t, s, Options{MaxGone: 2})
	s.pod("a", "u-1", nil, nil, nil)
	eventually(t, "a is seen", func() bool { return len(podNamed(c.Objects(), "a")) == 1 })
	s.remove("/api/v1/pods/a")
	s.pod("a", "u-2", nil, nil, nil)
	eventually(t, "a is replaced", func() bool { return len(podNamed(c.Objects(), "a")) == 2 })
	both := podNamed(c.Objects(), "a")
	if both[0].UID != "u-1" || !both[0].Gone || both[1].Gone {
		t.Errorf("got %+v", both)
	}
	for i := range 5 {
		name := fmt.Sprint("job-", i)
		s.pod(name, name, nil, nil, nil)
		s.remove("/api/v1/pods/" + name)
	}
	s.pod("last", "u-last", nil, nil, nil)
	eventually(t, "last is seen", func() bool { return len(podNamed(c.Objects(), "last")) == 1 })
	if n := len(c.Objects().Pods); n != 4 { // a, last and two that are gone
		t.Errorf("%d pods kept", n)
	}
	c.store.objects(time.Now().Add(10 * time.Minute))
	if n := len(c.Objects().Pods); n != 2 {
		t.Errorf("%d pods kept after the grace time", n)
	}
}

func TestOlderAndMissingResourceVersions(t *testing.T) {
	s := newAPIServer(t)
	s.serveResource("v1beta1")
	s.put("/apis/resource.k8s.io/v1beta1/resourceslices/x", object{
		"apiVersion": "resource.k8s.io/v1beta1", "kind": "ResourceSlice", "metadata": object{"name": "x"},
		"spec": object{"driver": "gpu.nvidia.com", "nodeName": "node-a", "devices": []object{{"name": "gpu-0", "basic": object{"attributes": object{"uuid": object{"string": "GPU-1"}}}}}},
	})
	c := start(t, s, Options{})
	eventually(t, "the slice is read", func() bool { return len(c.Objects().Slices) == 1 })
	if got := c.Objects().Slices[0].Devices[0].UUID; got != "GPU-1" {
		t.Errorf("got %q", got)
	}

	none := newAPIServer(t)
	c = start(t, none, Options{})
	eventually(t, "a server without the group is no failure", func() bool { ok, _, _ := c.Status(); return ok && c.Objects().Known })
}

func TestForbiddenSaysWhatToGrant(t *testing.T) {
	s := newAPIServer(t)
	s.forbid("/api/v1/pods")
	c := start(t, s, Options{})
	eventually(t, "the refusal is told", func() bool {
		_, _, err := c.Status()
		return strings.HasPrefix(err, "watch pods: ") && strings.Contains(err, "grant the agent's service account the permissions")
	})
	if c.Objects().Known {
		t.Error("known without pods")
	}

	s = newAPIServer(t)
	s.serveResource("v1")
	s.forbid("/apis/resource.k8s.io/v1/")
	c = start(t, s, Options{})
	eventually(t, "pods are known without slices", func() bool { return c.Objects().Known })
	if ok, _, err := c.Status(); ok || !strings.HasPrefix(err, "watch resource slices: ") {
		t.Errorf("got %v, %s", ok, err)
	}
}

func TestOwners(t *testing.T) {
	s := newAPIServer(t)
	s.owner("apps/v1", "replicasets", "web-abc", "rs-1", controller("apps/v1", "Deployment", "web", "d-1"))
	s.owner("batch/v1", "jobs", "sweep", "j-1", nil)
	s.owner("batch/v1", "jobs", "sweep-2", "j-new", controller("batch/v1", "CronJob", "sweeper", "cj-1"))
	s.owner("ray.io/v1", "rayclusters", "ray-x", "rc-1", controller("ray.io/v1", "RayJob", "ray", "rj-1"))
	pod := func(name string, refs []object) { s.pod(name, "u-"+name, object{"ownerReferences": refs}, nil, nil) }
	pod("web", controller("apps/v1", "ReplicaSet", "web-abc", "rs-1"))
	pod("job", controller("batch/v1", "Job", "sweep", "j-1"))
	pod("other-job", controller("batch/v1", "Job", "sweep-2", "j-old")) // its Job was replaced
	pod("ray", controller("ray.io/v1", "RayCluster", "ray-x", "rc-1"))
	pod("torch", controller("kubeflow.org/v1", "PyTorchJob", "bert", "pt-1"))
	pod("volcano", controller("batch.volcano.sh/v1alpha1", "Job", "vj", "v-1"))
	pod("lost", controller("apps/v1", "ReplicaSet", "lost-abc", "rs-2"))
	pod("bare", nil)
	c := start(t, s, Options{})
	want := map[string]workload.Owner{
		"web":       {Kind: "Deployment", Name: "web", UID: "d-1"},
		"job":       {Kind: "Job", Name: "sweep", UID: "j-1"},
		"other-job": {Kind: "Job", Name: "sweep-2", UID: "j-old"},
		"ray":       {Kind: "RayJob", Name: "ray", UID: "rj-1"},
		"torch":     {Kind: "PyTorchJob", Name: "bert", UID: "pt-1"},
		"volcano":   {Kind: "Job", Name: "vj", UID: "v-1"},
		"lost":      {Kind: "ReplicaSet", Name: "lost-abc", UID: "rs-2"},
		"bare":      {},
	}
	got := func() map[string]workload.Owner {
		by := map[string]workload.Owner{}
		for _, p := range c.Objects().Pods {
			by[p.Name] = p.Owner
		}
		return by
	}
	eventually(t, "all owners are known: "+cmp.Diff(want, got()), func() bool { return cmp.Equal(want, got()) })
	if s.seen("/deployments/") != 0 || s.seen("pytorchjobs") != 0 || s.seen("batch.volcano.sh") != 0 {
		t.Error("read an owner that stands for itself")
	}
	if s.seen("replicasets/web-abc "+metadataType) != 1 {
		t.Error("the ReplicaSet was not read once, as metadata")
	}
}

func TestOwnersByNameWhereReadingIsForbidden(t *testing.T) {
	s := newAPIServer(t)
	s.forbid("/apis/apps/")
	s.forbid("/apis/batch/")
	pod := func(name, hash string, refs []object) {
		s.pod(name, "u-"+name, object{"ownerReferences": refs, "labels": object{"pod-template-hash": hash}}, nil, nil)
	}
	pod("web", "6d4cf", controller("apps/v1", "ReplicaSet", "my-web-6d4cf", "rs-1"))
	pod("custom", "other", controller("apps/v1", "ReplicaSet", "my-own", "rs-2"))
	pod("cron", "", controller("batch/v1", "Job", "nightly-29384756", "j-1"))
	pod("job", "", controller("batch/v1", "Job", "train-2026", "j-2"))
	pod("set", "", controller("apps/v1", "StatefulSet", "db-0", "ss-1"))
	c := start(t, s, Options{})
	want := []workload.Owner{
		{Kind: "Job", Name: "nightly-29384756", UID: "j-1"}, {Kind: "ReplicaSet", Name: "my-own", UID: "rs-2"},
		{Kind: "Job", Name: "train-2026", UID: "j-2"}, {Kind: "StatefulSet", Name: "db-0", UID: "ss-1"}, {Kind: "Deployment", Name: "my-web"},
	}
	eventually(t, "owners are inferred", func() bool {
		var got []workload.Owner
		for _, name := range []string{"cron", "custom", "job", "set", "web"} {
			for _, p := range podNamed(c.Objects(), name) {
				got = append(got, p.Owner)
			}
		}
		return cmp.Equal(want, got)
	})
	eventually(t, "optional permissions are no failure", func() bool { ok, _, _ := c.Status(); return ok })
}

func TestCloseLeavesNothingRunning(t *testing.T) {
	s := newAPIServer(t)
	s.serveResource("v1")
	s.pod("a", "u-a", nil, nil, nil)
	c := start(t, s, Options{})
	eventually(t, "the cache is filled", func() bool { return c.Objects().Known })
	c.Close()
	buf := make([]byte, 1<<20)
	eventually(t, "all goroutines of the cache end", func() bool {
		n := runtime.Stack(buf, true)
		return !strings.Contains(string(buf[:n]), "client-go") && !strings.Contains(string(buf[:n]), "kubeapi.(*Cache)")
	})
	if len(c.Objects().Pods) != 1 {
		t.Error("the objects are gone with the connection")
	}
}

func TestStartWithoutNode(t *testing.T) {
	if _, err := Start(Options{}); err == nil || !strings.Contains(err.Error(), "no node name") {
		t.Errorf("got %v", err)
	}
}

// A refusal after an answer, as from a server that just started, changes
// nothing of what is known.
func TestOwnerStandsThroughRefusal(t *testing.T) {
	o := newOwners(nil)
	parent := ownerRef{Owner: workload.Owner{Kind: "Deployment", Name: "web", UID: "d-1"}, api: "apps/v1", namespace: "default"}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "web-abc", nil)
	at := ownerRef{Owner: workload.Owner{Kind: "ReplicaSet", Name: "web-abc", UID: "rs-1"}, api: "apps/v1", namespace: "default"}
	if got := o.judge(nil, forbidden, at, ownerEntry{parent: parent}); got.parent != parent || got.forbidden {
		t.Errorf("got %+v", got)
	}
	if got := o.judge(nil, forbidden, at, ownerEntry{}); !got.forbidden {
		t.Errorf("got %+v", got)
	}
}
