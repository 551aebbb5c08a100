// SPDX-License-Identifier: Apache-2.0

package livecluster

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	_ "k8s.io/client-go/plugin/pkg/client/auth" // users of kubeconfigs that get tokens from providers
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say which cluster is read, and how much of it.
type Options struct {
	// Kubeconfig is a file; "" takes KUBECONFIG or ~/.kube/config, as kubectl does,
	// and in a pod its service account.
	Kubeconfig string
	// Context is one of the kubeconfig's; "" takes the current one.
	Context string
	// Namespace limits what is read; "" is all of them.
	Namespace string
	// UserAgent is how the program names itself to the API server.
	UserAgent string
	// Progress, if set, is told after every page: what is read, how many so far,
	// and how many the API server says are left (0: it does not say).
	Progress func(what string, read int, left int64)
}

// Cluster is a way into one cluster as one user.
type Cluster struct {
	o    Options
	name string
	api  rest.Interface

	spaces    []string // all namespaces, once they were needed
	spacesErr error
	asked     bool
}

// Enough for a list per namespace where the whole cluster may not be listed.
const (
	perSecond = 50
	burst     = 100
)

// Open reads the kubeconfig; it does not connect.
func Open(o Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = o.Kubeconfig
	loader := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: o.Context})
	config, err := loader.ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w; name one with --kubeconfig, or files with -f", err)
	}
	c := &Cluster{o: o, name: o.Context}
	if raw, err := loader.RawConfig(); err == nil && c.name == "" {
		c.name = raw.CurrentContext
	}
	if c.api, err = connect(config, o.UserAgent); err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c, err)
	}
	return c, nil
}

// connect makes a client that asks for text and leaves it as it is.
func connect(config *rest.Config, agent string) (rest.Interface, error) {
	config = rest.CopyConfig(config)
	config.UserAgent, config.WarningHandler = agent, rest.NoWarnings{}
	config.QPS, config.Burst = perSecond, burst
	config.GroupVersion, config.APIPath = &schema.GroupVersion{Version: "v1"}, "/api"
	scheme := runtime.NewScheme() // of refusals alone
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	return rest.RESTClientFor(config)
}

// String names the cluster, in messages and as the place of what was found.
func (c *Cluster) String() string {
	if c.name == "" {
		return "cluster"
	}
	return "cluster/" + c.name
}
