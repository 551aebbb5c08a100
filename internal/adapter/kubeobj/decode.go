// SPDX-License-Identifier: Apache-2.0

package kubeobj

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	kjson "sigs.k8s.io/json"
)

// versions are the API versions that each kind is read in. An object without
// apiVersion is taken as any of them.
var versions = map[string][]string{
	"Pod":           {"v1"},
	"Node":          {"v1"},
	"ResourceClaim": {resourceV1, resourceV1beta2, resourceV1beta1},
	"ResourceSlice": {resourceV1, resourceV1beta2, resourceV1beta1},
}

const (
	resourceV1      = "resource.k8s.io/v1"
	resourceV1beta2 = "resource.k8s.io/v1beta2"
	resourceV1beta1 = "resource.k8s.io/v1beta1"
)

// Decode reads one object in the API's JSON shape into its workload type: a
// workload.Pod, Node, Claim or Slice, for kind Pod, Node, ResourceClaim or
// ResourceSlice. apiVersion and kind may be missing from the text, but must
// not contradict. strict refuses fields that the API does not have, and fields
// given twice, naming their paths; otherwise they are ignored. Field names are
// case-sensitive, as on the API server.
func Decode(kind string, text []byte, strict bool) (any, error) {
	if err := checkType(kind, text); err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	v, err := decodeKind(kind, text, strict)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", kind, err)
	}
	return v, nil
}

func decodeKind(kind string, text []byte, strict bool) (any, error) {
	if strict {
		if err := checkDuplicates(text); err != nil {
			return nil, err
		}
	}
	switch kind {
	case "Pod":
		return into(text, strict, Pod)
	case "Node":
		return into(text, strict, Node)
	case "ResourceClaim":
		lifted, err := liftClaim(text)
		if err != nil {
			return nil, err
		}
		return into(lifted, strict, Claim)
	}
	lifted, err := liftSlice(text)
	if err != nil {
		return nil, err
	}
	return into(lifted, strict, Slice)
}

// checkDuplicates finds fields given twice in the text as it was written:
// lifting to a later shape would drop them.
func checkDuplicates(text []byte) error {
	var object map[string]any
	problems, err := kjson.UnmarshalStrict(text, &object)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return joinProblems(problems)
	}
	return nil
}

type apiObject interface {
	corev1.Pod | corev1.Node | resourcev1.ResourceClaim | resourcev1.ResourceSlice
}

func into[A apiObject, W any](text []byte, strict bool, convert func(*A) W) (any, error) {
	var object A
	if !strict {
		if err := kjson.UnmarshalCaseSensitivePreserveInts(text, &object); err != nil {
			return nil, err
		}
		return convert(&object), nil
	}
	problems, err := kjson.UnmarshalStrict(text, &object)
	if err != nil {
		return nil, err
	}
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return convert(&object), nil
}

// joinProblems puts all strict errors into one, so that a user can mend them
// in one go.
func joinProblems(problems []error) error {
	texts := make([]string, len(problems))
	for i, p := range problems {
		texts[i] = p.Error()
	}
	return fmt.Errorf("%s", strings.Join(texts, "; "))
}

func checkType(kind string, text []byte) error {
	known, ok := versions[kind]
	if !ok {
		return fmt.Errorf("kind %q is not one of Pod, Node, ResourceClaim, ResourceSlice", kind)
	}
	var meta struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := json.Unmarshal(text, &meta); err != nil {
		return err
	}
	if meta.Kind != "" && meta.Kind != kind {
		return fmt.Errorf("kind: is %q, want %q", meta.Kind, kind)
	}
	for _, v := range known {
		if meta.APIVersion == "" || meta.APIVersion == v {
			return nil
		}
	}
	return fmt.Errorf("apiVersion: %q is not one of %s", meta.APIVersion, strings.Join(known, ", "))
}
