// SPDX-License-Identifier: Apache-2.0

package oldest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"sigs.k8s.io/yaml"
)

// TestFieldsExist: every object in the golden files has only fields that Kubernetes
// 1.30 knows. The set of values dra is for 1.34 and newer.
func TestFieldsExist(t *testing.T) {
	known := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, rbacv1.AddToScheme, networkingv1.AddToScheme, policyv1.AddToScheme} {
		utilruntime.Must(add(known))
	}
	files, err := filepath.Glob("../testdata/golden/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	checked := 0
	for _, path := range files {
		if filepath.Base(path) == "dra.yaml" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		manifests, _, _ := strings.Cut(string(text), "--- # NOTES\n")
		for _, doc := range strings.Split("\n"+manifests, "\n---") {
			if check(t, known, path, doc) {
				checked++
			}
		}
	}
	if checked < 80 {
		t.Errorf("%d objects checked in %d files", checked, len(files))
	}
}

// check decodes one object strictly, if its group is one of Kubernetes.
func check(t *testing.T, known *runtime.Scheme, path, doc string) bool {
	t.Helper()
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
		t.Errorf("%s: %v", path, err)
		return false
	}
	group, err := schema.ParseGroupVersion(head.APIVersion)
	if err != nil || head.Kind == "" || strings.HasSuffix(group.Group, ".coreos.com") || group.Group == "cert-manager.io" {
		return false
	}
	into, err := known.New(group.WithKind(head.Kind))
	if err != nil {
		t.Errorf("%s: Kubernetes 1.30 has no %s %s", path, head.APIVersion, head.Kind)
		return false
	}
	// The golden files say so where a certificate is made at the installation.
	doc = strings.ReplaceAll(doc, "(made when it is installed)", "YQ==")
	if err := yaml.UnmarshalStrict([]byte(doc), into); err != nil {
		t.Errorf("%s: %s: %v", path, head.Kind, err)
		return false
	}
	return true
}
