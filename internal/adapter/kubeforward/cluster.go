// SPDX-License-Identifier: Apache-2.0

package kubeforward

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // users of kubeconfigs that get tokens from providers
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say which cluster, and where in it gputally is.
type Options struct {
	// Kubeconfig is a file; "" takes KUBECONFIG or ~/.kube/config, as kubectl does.
	Kubeconfig string
	// Context is one of the kubeconfig's; "" takes the current one.
	Context string
	// Namespace is where gputally is installed.
	Namespace string
	// ServiceAccount, as NAME in that namespace, gives its token to users who have none
	// of their own. "" asks for none.
	ServiceAccount string
	// Audience is what such a token is made for.
	Audience string
	// UserAgent is how this program names itself to the API server.
	UserAgent string
}

// Cluster is a way into one cluster as one user.
type Cluster struct {
	o      Options
	name   string
	config *rest.Config
	core   rest.Interface
}

// patience bounds one question to the API server.
const patience = 15 * time.Second

// Open reads the kubeconfig; it does not connect.
func Open(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	config.UserAgent = o.UserAgent
	config.WarningHandler = rest.NoWarnings{}
	c := &Cluster{o: o, name: o.Context, config: config}
	if c.name == "" {
		c.name = raw.CurrentContext
	}
	if c.core, err = rest.RESTClientFor(coreConfig(config)); err != nil {
		return nil, fmt.Errorf("context %s of the kubeconfig: %w", c.name, err)
	}
	return c, nil
}

// coreConfig is for core/v1 with the types that are read here.
func coreConfig(config *rest.Config) *rest.Config {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{})
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	core := rest.CopyConfig(config)
	core.GroupVersion = &corev1.SchemeGroupVersion
	core.APIPath = "/api"
	core.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	core.Timeout = patience
	return core
}

// String names the place in messages.
func (c *Cluster) String() string {
	if c.name == "" {
		return "namespace " + c.o.Namespace
	}
	return fmt.Sprintf("namespace %s (context %s)", c.o.Namespace, c.name)
}

// Pod is one pod of gputally, and the port it serves on.
type Pod struct {
	Name, Node string
	Port       int32
	// TLS says that it serves with TLS.
	TLS bool
}

// The labels of gputally's pods, and the names of their ports: as the chart sets them
// (deploy/chart/templates/_names.tpl).
const (
	selectServer = "app.kubernetes.io/part-of=gputally,app.kubernetes.io/component=server"
	selectAgents = "app.kubernetes.io/part-of=gputally,app.kubernetes.io/component=agent"
	serverPort   = "api"
	agentPort    = "metrics"
)

// Server is the pod of the server. Where there are several, as while one replaces
// another, the one that is ready counts.
func (c *Cluster) Server(ctx context.Context) (Pod, error) {
	pods, err := c.pods(ctx, selectServer, "", serverPort)
	if err != nil {
		return Pod{}, fmt.Errorf("find the server's pod: %w", err)
	}
	if len(pods) == 0 {
		return Pod{}, fmt.Errorf("no pod of a gputally server runs in %s: say where it is installed with --namespace, or install it (docs/install.md)", c)
	}
	return pods[0], nil
}

// Agents are the pods of the agents, on all nodes or on the one that is named.
func (c *Cluster) Agents(ctx context.Context, node string) ([]Pod, error) {
	pods, err := c.pods(ctx, selectAgents, node, agentPort)
	if err != nil {
		return nil, fmt.Errorf("find the agents' pods: %w", err)
	}
	switch {
	case len(pods) == 0 && node != "":
		return nil, fmt.Errorf("no gputally agent runs on node %s in %s: is it a GPU node, and is its name right?", node, c)
	case len(pods) == 0:
		return nil, fmt.Errorf("no gputally agent runs in %s: say where it is installed with --namespace, or install it (docs/install.md)", c)
	}
	return pods, nil
}

// pods lists running pods, ready ones first.
func (c *Cluster) pods(ctx context.Context, selector, node, port string) ([]Pod, error) {
	r := c.core.Get().Namespace(c.o.Namespace).Resource("pods").Param("labelSelector", selector)
	fields := "status.phase=Running"
	if node != "" {
		fields += ",spec.nodeName=" + node
	}
	var list corev1.PodList
	if err := r.Param("fieldSelector", fields).Do(ctx).Into(&list); err != nil {
		return nil, c.denied(err, "list", "pods")
	}
	var ready, others []Pod
	for i := range list.Items {
		p, ok := podOf(&list.Items[i], port)
		switch {
		case !ok || list.Items[i].DeletionTimestamp != nil:
		case isReady(&list.Items[i]):
			ready = append(ready, p)
		default:
			others = append(others, p)
		}
	}
	return append(ready, others...), nil
}

// podOf takes the port by its name, and whether it has TLS from the probe that the
// kubelet asks the same port with.
func podOf(pod *corev1.Pod, port string) (Pod, bool) {
	for _, container := range pod.Spec.Containers {
		for _, p := range container.Ports {
			if p.Name != port {
				continue
			}
			probe := container.ReadinessProbe
			tls := probe != nil && probe.HTTPGet != nil && probe.HTTPGet.Scheme == corev1.URISchemeHTTPS
			return Pod{Name: pod.Name, Node: pod.Spec.NodeName, Port: p.ContainerPort, TLS: tls}, true
		}
	}
	return Pod{}, false
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// denied adds to a refusal which right is missing.
func (c *Cluster) denied(err error, verbs, resource string) error {
	switch {
	// A refused upgrade to streams may have the API server's words alone, not its status.
	case apierrors.IsForbidden(err), strings.Contains(err.Error(), " is forbidden: "):
		return fmt.Errorf("%w\n  a Role in namespace %s with the verb %s on %s would let you (docs/kubectl.md)", err, c.o.Namespace, verbs, resource)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("the API server does not know you: log in again, as for kubectl (%w)", err)
	}
	return err
}

// ErrActsAs says that the kubeconfig's user acts as another one, which a token cannot say.
var ErrActsAs = errors.New("the kubeconfig's user acts as another one (as:); gputally's server would see the user behind it. Use a context without it, or --token-file")

// header keeps the Authorization header of a request instead of sending it.
type header struct{ value string }

func (h *header) RoundTrip(r *http.Request) (*http.Response, error) {
	h.value = r.Header.Get("Authorization")
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
}
