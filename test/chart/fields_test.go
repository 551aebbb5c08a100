// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// TestFieldsExist: every object of every set of values has only fields that its kind
// has, in Kubernetes, in the Prometheus Operator and in cert-manager. (Fields of
// Kubernetes 1.30: the module oldest.)
func TestFieldsExist(t *testing.T) {
	kinds := map[string]int{}
	for _, v := range variants(t) {
		for _, o := range objects(t, render(t, v.values, newest)) {
			if _, err := decode(o); err != nil {
				t.Errorf("%s: %s %s: %v", v.name, o.Kind, o.Name, err)
			}
			kinds[o.Kind]++
		}
	}
	for _, k := range order {
		if kinds[k] == 0 && k != "Namespace" {
			t.Errorf("no set of values gives a %s: none was checked", k)
		}
	}
}

// TestFieldsThatAreNot: the check itself finds a field that there is not.
func TestFieldsThatAreNot(t *testing.T) {
	for _, text := range []string{
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {prots: []}",
		"apiVersion: monitoring.coreos.com/v1\nkind: PodMonitor\nmetadata: {name: a}\nspec: {selectr: {}}",
		"apiVersion: cert-manager.io/v1\nkind: Certificate\nmetadata: {name: a}\nspec: {secret: a}",
		"apiVersion: v1\nkind: Servce\nmetadata: {name: a}",
	} {
		o, err := objectOf("a", text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decode(o); err == nil {
			t.Errorf("taken:\n%s", text)
		}
	}
}

// decode reads an object into its type. A field that the type does not have is an
// error, as it is to the API server with strict validation.
func decode(o Object) (any, error) {
	into, err := typeOf(o)
	if err != nil {
		return nil, err
	}
	return into, yaml.UnmarshalStrict([]byte(o.Text), into)
}

func typeOf(o Object) (any, error) {
	switch o.APIVersion + "/" + o.Kind {
	case "monitoring.coreos.com/v1/PodMonitor":
		return &monitoring.PodMonitor{}, nil
	case "monitoring.coreos.com/v1/ServiceMonitor":
		return &monitoring.ServiceMonitor{}, nil
	case "monitoring.coreos.com/v1/PrometheusRule":
		return &monitoring.PrometheusRule{}, nil
	case "cert-manager.io/v1/Certificate":
		return &certificate{}, nil
	case "cert-manager.io/v1/Issuer":
		return &issuer{}, nil
	}
	group, err := schema.ParseGroupVersion(o.APIVersion)
	if err != nil {
		return nil, err
	}
	obj, err := scheme.Scheme.New(group.WithKind(o.Kind))
	if runtime.IsNotRegisteredError(err) {
		return nil, fmt.Errorf("Kubernetes has no %s %s", o.APIVersion, o.Kind)
	}
	return obj, err
}

// TestNamesAndLabels: every object is named for the release, and says what it is
// part of; all but those of the whole cluster are in the release's namespace.
func TestNamesAndLabels(t *testing.T) {
	clusterWide := []string{"ClusterRole", "ClusterRoleBinding"}
	for _, v := range variants(t) {
		seen := map[string]bool{}
		for _, o := range objects(t, render(t, v.values, newest)) {
			id := o.Kind + "/" + o.Name
			if seen[id] {
				t.Errorf("%s: %s twice", v.name, id)
			}
			seen[id] = true
			if !strings.HasPrefix(o.Name, "gputally") {
				t.Errorf("%s: %s is not named for the release", v.name, id)
			}
			if want := !slices.Contains(clusterWide, o.Kind); (o.Namespace == "gputally") != want {
				t.Errorf("%s: %s is in namespace %q", v.name, id, o.Namespace)
			}
			if !strings.Contains(o.Text, "\n    app.kubernetes.io/part-of: gputally\n") {
				t.Errorf("%s: %s has no label app.kubernetes.io/part-of", v.name, id)
			}
		}
	}
}

// TestSelectors: what selects pods selects those of this chart, for every Service,
// budget, policy and monitor.
func TestSelectors(t *testing.T) {
	r := render(t, inline(t, "monitoring: {podMonitor: true, serviceMonitor: true}"), newest)
	for file, component := range map[string]string{
		"server-service.yaml": "server", "server-pdb.yaml": "server", "server-statefulset.yaml": "server", "agent-daemonset.yaml": "agent",
	} {
		for _, label := range []string{`app.kubernetes.io/name: "gputally"`, `app.kubernetes.io/instance: "gputally"`, "app.kubernetes.io/component: " + component} {
			if n := strings.Count(r[file], label); n < 2 {
				t.Errorf("%s has %q %d times: in its own labels and in what it selects", file, label, n)
			}
		}
	}
}
