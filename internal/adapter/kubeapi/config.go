// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// LoadConfig finds how to reach the API server: from a kubeconfig file, or
// where none is named, from the service account of the pod we run in.
func LoadConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("find the API server: %w; outside a cluster, name a kubeconfig file", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %s: %w", kubeconfig, err)
	}
	return config, nil
}

// clients share one HTTP connection: core speaks protobuf for pods and nodes,
// and fetches single objects of any group; dynamic reads slices in whatever
// version is served.
type clients struct {
	core    rest.Interface
	dynamic dynamic.Interface
	http    *http.Client
}

func connect(config *rest.Config) (clients, error) {
	config = rest.CopyConfig(config)
	config.WarningHandler = rest.NoWarnings{} // older API versions are read on purpose
	if config.UserAgent == "" {
		config.UserAgent = "gputally-agent"
	}
	if config.QPS == 0 {
		// Enough to read the owners of a full node at the start.
		config.QPS, config.Burst = 20, 150
	}
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return clients{}, err
	}
	core, err := rest.RESTClientForConfigAndClient(coreConfig(config), shared)
	if err != nil {
		return clients{}, err
	}
	dyn, err := dynamic.NewForConfigAndClient(config, shared)
	if err != nil {
		return clients{}, err
	}
	return clients{core: core, dynamic: dyn, http: shared}, nil
}

// coreConfig is for core/v1, with a scheme of just the types that are watched:
// the full one costs the agent megabytes.
func coreConfig(config *rest.Config) *rest.Config {
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(corev1.SchemeGroupVersion, &corev1.Pod{}, &corev1.PodList{}, &corev1.Node{}, &corev1.NodeList{})
	metav1.AddToGroupVersion(scheme, corev1.SchemeGroupVersion)
	core := rest.CopyConfig(config)
	core.GroupVersion = &corev1.SchemeGroupVersion
	core.APIPath = "/api"
	core.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	core.ContentType = runtime.ContentTypeProtobuf
	core.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return core
}
