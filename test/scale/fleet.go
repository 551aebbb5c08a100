// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// object is a Kubernetes object as its JSON text has it.
type object = map[string]any

const (
	gpusPerNode  = 8
	agentAccount = "gputally-agent"
	agentSpace   = "gputally"
	// perSet is how many pods one Deployment has.
	perSet = 100
)

// accounts are who is who, with the rights that docs/security.md and package kubeapi
// name, and no others.
const accounts = `
- {path: /api/v1/namespaces, object: {apiVersion: v1, kind: Namespace, metadata: {name: gputally}}}
- {path: /api/v1/namespaces/gputally/serviceaccounts, object: {apiVersion: v1, kind: ServiceAccount, metadata: {name: gputally-agent}}}
- {path: /api/v1/namespaces/gputally/serviceaccounts, object: {apiVersion: v1, kind: ServiceAccount, metadata: {name: gputally-server}}}
- path: /apis/rbac.authorization.k8s.io/v1/clusterroles
  object:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRole
    metadata: {name: gputally-agent}
    rules:
    - {apiGroups: [""], resources: [pods, nodes], verbs: [get, list, watch]}
    - {apiGroups: [resource.k8s.io], resources: [resourceslices], verbs: [get, list, watch]}
    - {apiGroups: [resource.k8s.io], resources: [resourceclaims], verbs: [get]}
    - {apiGroups: [apps], resources: [replicasets, statefulsets], verbs: [get]}
    - {apiGroups: [batch], resources: [jobs], verbs: [get]}
- path: /apis/rbac.authorization.k8s.io/v1/clusterrolebindings
  object:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: gputally-agent}
    subjects: [{kind: User, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}]
    roleRef: {kind: ClusterRole, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}
- path: /apis/rbac.authorization.k8s.io/v1/clusterrolebindings
  object:
    apiVersion: rbac.authorization.k8s.io/v1
    kind: ClusterRoleBinding
    metadata: {name: gputally-server}
    subjects: [{kind: ServiceAccount, name: gputally-server, namespace: gputally}]
    roleRef: {kind: ClusterRole, name: "system:auth-delegator", apiGroup: rbac.authorization.k8s.io}
`

// fleet is the nodes and pods of the cluster.
type fleet struct {
	sizes
	names []string // of the nodes
}

func nodeName(i int) string  { return fmt.Sprintf("node-%04d", i) }
func agentPod(i int) string  { return fmt.Sprintf("agent-%04d", i) }
func namespace(i int) string { return fmt.Sprintf("team-%02d", i) }

// build fills the cluster and waits until every pod runs.
func build(ctx context.Context, s sizes) (*fleet, error) {
	f := &fleet{sizes: s}
	for i := range s.nodes {
		f.names = append(f.names, nodeName(i))
	}
	var rows []struct {
		Path   string
		Object object
	}
	if err := yaml.Unmarshal([]byte(accounts), &rows); err != nil {
		return nil, fmt.Errorf("read accounts: %w", err)
	}
	for _, r := range rows {
		if err := create(ctx, r.Path, r.Object); err != nil {
			return nil, err
		}
	}
	if err := each(s.nodes, 16, func(i int) error { return create(ctx, "/api/v1/nodes", node(i)) }); err != nil {
		return nil, err
	}
	// One pod of the agent's on each node, as its DaemonSet has.
	if err := each(s.nodes, 16, func(i int) error {
		return create(ctx, "/api/v1/namespaces/"+agentSpace+"/pods", podOf(agentPod(i), nodeName(i)))
	}); err != nil {
		return nil, err
	}
	if err := f.workloads(ctx); err != nil {
		return nil, err
	}
	return f, f.allRun(ctx)
}

// workloads creates Deployments in 20 namespaces: of every hundred pods 78 want a
// GPU, where there are so many GPUs.
func (f *fleet) workloads(ctx context.Context) error {
	const namespaces = 20
	for i := range namespaces {
		if err := create(ctx, "/api/v1/namespaces", object{"metadata": object{"name": namespace(i)}}); err != nil {
			return err
		}
	}
	rest := f.pods - f.nodes
	gpu := min(rest*78/100, f.nodes*gpusPerNode*97/100)
	sets := 0
	deploy := func(n, gpus int) error {
		for ; n > 0; n -= perSet {
			name := fmt.Sprintf("set-%03d", sets)
			path := "/apis/apps/v1/namespaces/" + namespace(sets%namespaces) + "/deployments"
			if err := create(ctx, path, deployment(name, min(n, perSet), gpus)); err != nil {
				return err
			}
			sets++
		}
		return nil
	}
	if err := deploy(gpu, 1); err != nil {
		return err
	}
	return deploy(rest-gpu, 0)
}

func node(i int) object {
	capacity := object{"cpu": "192", "memory": "2048Gi", "pods": "110", "nvidia.com/gpu": fmt.Sprint(gpusPerNode)}
	return object{"apiVersion": "v1", "kind": "Node", "metadata": object{
		"name": nodeName(i), "annotations": object{"kwok.x-k8s.io/node": "fake"},
		"labels": object{"kubernetes.io/hostname": nodeName(i), "node.kubernetes.io/instance-type": "p5.48xlarge", "nvidia.com/gpu.present": "true",
			"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
	}, "spec": object{"providerID": "test:///" + nodeName(i)}, "status": object{"capacity": capacity, "allocatable": capacity}}
}

func container(gpus int) object {
	resources := object{"requests": object{"cpu": "1", "memory": "1Gi"}}
	if gpus > 0 {
		resources["limits"] = object{"nvidia.com/gpu": fmt.Sprint(gpus)}
	}
	return object{"name": "main", "image": "example.com/trainer:1", "resources": resources}
}

// podOf is a pod of the agent's on a node, which the scheduler need not place.
func podOf(name, node string) object {
	return object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": name, "labels": object{"app": "gputally-agent"}},
		"spec": object{"nodeName": node, "serviceAccountName": agentAccount, "containers": []object{container(0)}}}
}

func deployment(name string, pods, gpus int) object {
	labels := object{"app": name, "team": "team-of-" + name, "cost-center": "4711"}
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": object{"name": name}, "spec": object{
		"replicas": pods, "selector": object{"matchLabels": object{"app": name}},
		"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []object{container(gpus)}}},
	}}
}

// truth is the pods of each node by UID, sorted, as the API server says now.
func truth(ctx context.Context) (map[string][]string, error) {
	l, err := listPods(ctx, "", metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	out := map[string][]string{}
	for _, p := range l {
		if p.Spec.NodeName != "" {
			out[p.Spec.NodeName] = append(out[p.Spec.NodeName], string(p.UID))
		}
	}
	for _, uids := range out {
		slices.Sort(uids)
	}
	return out, nil
}

// listPods lists pods, in the compact form: the API server has other work.
func listPods(ctx context.Context, namespace string, o metav1.ListOptions) ([]corev1.Pod, error) {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	c, err := rest.RESTClientFor(&rest.Config{Host: apiServer, APIPath: "/api", BearerToken: "admin-token", TLSClientConfig: rest.TLSClientConfig{CAFile: serverCA},
		ContentConfig: rest.ContentConfig{GroupVersion: &corev1.SchemeGroupVersion, ContentType: runtime.ContentTypeProtobuf,
			NegotiatedSerializer: serializer.NewCodecFactory(scheme).WithoutConversion()}})
	if err != nil {
		return nil, err
	}
	var l corev1.PodList
	err = c.Get().Resource("pods").NamespaceIfScoped(namespace, namespace != "").VersionedParams(&o, metav1.ParameterCodec).Do(ctx).Into(&l)
	return l.Items, err
}

// allRun waits until as many pods run as were asked for.
func (f *fleet) allRun(ctx context.Context) error {
	return until(ctx, 20*time.Minute, 5*time.Second, "all pods run", func() error {
		var sets struct {
			Items []struct{ Status struct{ ReadyReplicas int } }
		}
		if err := get(ctx, "/apis/apps/v1/deployments?resourceVersion=0", &sets); err != nil {
			return err
		}
		n := 0
		for _, s := range sets.Items {
			n += s.Status.ReadyReplicas
		}
		own, err := listPods(ctx, agentSpace, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return err
		}
		for _, p := range own {
			if p.Status.Phase == corev1.PodRunning {
				n++
			}
		}
		if n < f.pods {
			say("%d of %d pods run", n, f.pods)
			return fmt.Errorf("%d of %d", n, f.pods)
		}
		return nil
	})
}

// mark writes a label on every node, for the agents to see.
func (f *fleet) mark(ctx context.Context, value string) error {
	patch := object{"metadata": object{"labels": object{markLabel: value}}}
	return each(f.nodes, 32, func(i int) error {
		_, err := call(ctx, http.MethodPatch, "/api/v1/nodes/"+nodeName(i), "application/merge-patch+json", patch)
		return err
	})
}

const markLabel = "gputally.example/mark"

// job is one pod that ends at once, and goes five seconds later.
func job(name string) object {
	return object{"apiVersion": "batch/v1", "kind": "Job", "metadata": object{"name": name}, "spec": object{
		"ttlSecondsAfterFinished": 5, "template": object{"metadata": object{"labels": object{"team": "jobs"}},
			"spec": object{"restartPolicy": "Never", "containers": []object{container(0)}}}}}
}

// churn has pods come and go for a while, so many a second, and waits until the last
// is gone. It returns how many came.
func (f *fleet) churn(ctx context.Context) (pods int, err error) {
	tick := time.NewTicker(time.Second / time.Duration(f.churnRate))
	defer tick.Stop()
	jobs := int(f.sizes.churn.Seconds()) * f.churnRate
	if err := each(jobs, 8, func(i int) error {
		<-tick.C
		return create(ctx, "/apis/batch/v1/namespaces/"+namespace(i%20)+"/jobs", job(fmt.Sprintf("job-%05d", i)))
	}); err != nil {
		return 0, err
	}
	return jobs, until(ctx, 5*time.Minute, 3*time.Second, "the pods of Jobs are gone", func() error {
		left, err := listPods(ctx, "", metav1.ListOptions{LabelSelector: "team=jobs", ResourceVersion: "0"})
		if err != nil {
			return err
		}
		if len(left) > 0 {
			return fmt.Errorf("%d are left", len(left))
		}
		return nil
	})
}

// token has the API server make the token that a kubelet would mount into a pod.
func token(ctx context.Context, account, audience, pod string) (string, error) {
	spec := object{"expirationSeconds": 7200}
	if audience != "" {
		spec["audiences"] = []string{audience}
	}
	if pod != "" {
		spec["boundObjectRef"] = object{"kind": "Pod", "apiVersion": "v1", "name": pod}
	}
	text, err := call(ctx, http.MethodPost, "/api/v1/namespaces/"+agentSpace+"/serviceaccounts/"+account+"/token", "",
		object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
	if err != nil {
		return "", err
	}
	var out struct{ Status struct{ Token string } }
	if err := json.Unmarshal(text, &out); err != nil || strings.Count(out.Status.Token, ".") != 2 {
		return "", fmt.Errorf("no token in %.200s: %w", text, err)
	}
	return out.Status.Token, nil
}
