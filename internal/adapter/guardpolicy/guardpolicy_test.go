// SPDX-License-Identifier: Apache-2.0

package guardpolicy_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	v1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/api/admissionregistration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/json"

	"github.com/gputally/gputally/internal/adapter/guardpolicy"
	"github.com/gputally/gputally/internal/core/guard"
)

// That the expressions compile, and say of pods what guard scan says, is tried on a real
// API server: test/cluster, scenario guard-policies.

func documents(t *testing.T, o guardpolicy.Options) []string {
	t.Helper()
	var b bytes.Buffer
	if err := guardpolicy.Write(&b, o); err != nil {
		t.Fatal(err)
	}
	return strings.Split(b.String(), "\n---\n")
}

// strictly decodes a manifest into its type of k8s.io/api; a field that it has not fails.
func strictly(t *testing.T, document string) (kind string) {
	t.Helper()
	text, err := yaml.YAMLToJSON([]byte(document))
	if err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	var meta metav1.TypeMeta
	if err := json.UnmarshalCaseSensitivePreserveInts(text, &meta); err != nil {
		t.Fatal(err)
	}
	types := map[string]any{
		"v1 ValidatingAdmissionPolicy":           &v1.ValidatingAdmissionPolicy{},
		"v1 ValidatingAdmissionPolicyBinding":    &v1.ValidatingAdmissionPolicyBinding{},
		"v1 MutatingAdmissionPolicy":             &v1.MutatingAdmissionPolicy{},
		"v1 MutatingAdmissionPolicyBinding":      &v1.MutatingAdmissionPolicyBinding{},
		"v1beta1 MutatingAdmissionPolicy":        &v1beta1.MutatingAdmissionPolicy{},
		"v1beta1 MutatingAdmissionPolicyBinding": &v1beta1.MutatingAdmissionPolicyBinding{},
	}
	kind = strings.TrimPrefix(meta.APIVersion, "admissionregistration.k8s.io/") + " " + meta.Kind
	into, ok := types[kind]
	if !ok {
		t.Fatalf("unknown kind %s", kind)
	}
	problems, err := json.UnmarshalStrict(text, into)
	if err != nil || len(problems) > 0 {
		t.Errorf("%s: %v %v", kind, err, problems)
	}
	return kind
}

func TestObjectsAreThoseThatTheVersionServes(t *testing.T) {
	for minor, mutating := range map[int]string{30: "", 33: "", 34: "v1beta1 ", 35: "v1beta1 ", 36: "v1 ", 37: "v1 "} {
		var got []string
		for _, d := range documents(t, guardpolicy.Options{Minor: minor}) {
			got = append(got, strictly(t, d))
		}
		want := []string{"v1 ValidatingAdmissionPolicy", "v1 ValidatingAdmissionPolicyBinding", "v1 ValidatingAdmissionPolicyBinding", "v1 ValidatingAdmissionPolicyBinding"}
		if mutating != "" {
			want = append(want, mutating+"MutatingAdmissionPolicy", mutating+"MutatingAdmissionPolicyBinding")
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("Kubernetes 1.%d gets %v, want %v", minor, got, want)
		}
	}
}

// unseen are rules of what the API server cannot see in a pod: what its image says (the
// mutating policy has an answer to that) and what it does once it runs. An exemption
// without a reason exempts nothing.
var unseen = []guard.ID{guard.BadExemption, guard.ByImage, guard.SeenOpen, guard.SeenUsing}

// TestEveryRuleHasItsValidation: a rule of pods that is added to core/guard is missed here.
func TestEveryRuleHasItsValidation(t *testing.T) {
	policy := documents(t, guardpolicy.Options{Minor: 37})[0]
	for _, r := range guard.Rules() {
		has := strings.Contains(policy, "'gputally "+string(r.ID)+" "+r.Name+"'")
		if want := !r.OfNode && !slices.Contains(unseen, r.ID); has != want {
			t.Errorf("%s %s: a validation is there: %v, want %v", r.ID, r.Name, has, want)
		}
	}
}

func TestFurtherResourcesAsk(t *testing.T) {
	policy := documents(t, guardpolicy.Options{Minor: 37, Resources: []string{"example.com/gpu"}})[0]
	if strings.Count(policy, "r in ['example.com/gpu']") != 2 { // in limits and in requests
		t.Error("example.com/gpu does not count as a GPU")
	}
}
