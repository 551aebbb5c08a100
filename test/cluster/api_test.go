// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

const apiServer = "https://10.10.0.1:6443"

// paths tells where the API server keeps each kind of object a scenario uses.
var paths = map[string]string{
	"Pod":                              "/api/v1/namespaces/%s/pods",
	"Namespace":                        "/api/v1/namespaces",
	"Node":                             "/api/v1/nodes",
	"PersistentVolume":                 "/api/v1/persistentvolumes",
	"Service":                          "/api/v1/namespaces/%s/services",
	"ConfigMap":                        "/api/v1/namespaces/%s/configmaps",
	"Secret":                           "/api/v1/namespaces/%s/secrets",
	"DaemonSet":                        "/apis/apps/v1/namespaces/%s/daemonsets",
	"StatefulSet":                      "/apis/apps/v1/namespaces/%s/statefulsets",
	"NetworkPolicy":                    "/apis/networking.k8s.io/v1/namespaces/%s/networkpolicies",
	"PodDisruptionBudget":              "/apis/policy/v1/namespaces/%s/poddisruptionbudgets",
	"ServiceAccount":                   "/api/v1/namespaces/%s/serviceaccounts",
	"Job":                              "/apis/batch/v1/namespaces/%s/jobs",
	"ResourceClaim":                    "/apis/resource.k8s.io/v1/namespaces/%s/resourceclaims",
	"DeviceClass":                      "/apis/resource.k8s.io/v1/deviceclasses",
	"Role":                             "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/roles",
	"RoleBinding":                      "/apis/rbac.authorization.k8s.io/v1/namespaces/%s/rolebindings",
	"ValidatingAdmissionPolicy":        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"ValidatingAdmissionPolicyBinding": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings",
	"MutatingAdmissionPolicy":          "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
	"MutatingAdmissionPolicyBinding":   "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
	"RuntimeClass":                     "/apis/node.k8s.io/v1/runtimeclasses",
	"ClusterRole":                      "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"ClusterRoleBinding":               "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
}

// header is what all objects have in common.
type header struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string `json:"name"`
		Namespace string `json:"namespace"`
		UID       string `json:"uid"`
	} `json:"metadata"`
}

// collection is the URL path of the objects of h's kind, in its namespace.
func (h header) collection(t *testing.T) string {
	t.Helper()
	p, ok := paths[h.Kind]
	if !ok {
		t.Fatalf("manifest of kind %q: add the kind to paths in api_test.go", h.Kind)
	}
	if !strings.Contains(p, "%s") {
		return p
	}
	ns := h.Metadata.Namespace
	if ns == "" {
		ns = "default"
	}
	return fmt.Sprintf(p, ns)
}

// apply creates the objects of a YAML stream and deletes them when the test ends, last first.
func apply(t *testing.T, manifests string) {
	t.Helper()
	for doc := range strings.SplitSeq(manifests, "\n---\n") {
		body, err := yaml.YAMLToJSON([]byte(doc))
		if err != nil {
			t.Fatalf("read manifest: %v\n%s", err, doc)
		}
		var h header
		if err := json.Unmarshal(body, &h); err != nil {
			t.Fatalf("read manifest: %v\n%s", err, doc)
		}
		where := h.collection(t)
		// Admission refuses pods until the controller manager has made the namespace's service account.
		eventually(t, "create "+h.Kind+" "+h.Metadata.Name, func() error {
			_, err := call(http.MethodPost, where, "application/json", body)
			return err
		})
		t.Cleanup(func() { remove(t, where+"/"+h.Metadata.Name) })
	}
}

// remove deletes an object, if it is still there, and waits until it is gone.
func remove(t *testing.T, path string) {
	t.Helper()
	eventually(t, path+" is gone", func() error {
		_, err := call(http.MethodDelete, path, "application/json", []byte(`{"gracePeriodSeconds":1,"propagationPolicy":"Background"}`))
		if isNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("it is still there")
		}
		return err
	})
}

// get reads one object into out.
func get(path string, out any) error {
	body, err := call(http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

type statusError struct {
	code int
	body string
}

func (e statusError) Error() string { return fmt.Sprintf("API server answers %d: %s", e.code, e.body) }

func isNotFound(err error) bool {
	e, ok := err.(statusError)
	return ok && e.code == http.StatusNotFound
}

// call sends one request to the API server as the cluster's administrator.
func call(method, path, contentType string, body []byte) ([]byte, error) {
	ca, err := os.ReadFile("/run/node/tls/apiserver.crt")
	if err != nil {
		return nil, fmt.Errorf("read the API server's certificate: %w", err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(ca)
	client := http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}, DisableKeepAlives: true}}
	req, err := http.NewRequest(method, apiServer+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		return nil, statusError{resp.StatusCode, string(answer)}
	}
	return answer, nil
}

// removeAll deletes every object of a cluster-wide collection.
func removeAll(t *testing.T, collection string) {
	t.Helper()
	if _, err := call(http.MethodDelete, collection, "application/json", nil); err != nil {
		t.Errorf("delete all of %s: %v", collection, err)
	}
}

// kubernetesMinor is the minor version of the node's Kubernetes 1.
func kubernetesMinor(t *testing.T) int {
	t.Helper()
	var version struct{ Minor, GitVersion string }
	if err := get("/version", &version); err != nil {
		t.Fatal(err)
	}
	minor, err := strconv.Atoi(version.Minor)
	if err != nil {
		t.Fatalf("the API server's version is %q: %v", version.GitVersion, err)
	}
	return minor
}
