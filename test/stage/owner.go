// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Owner is a workload: its kind and name. The zero value is none.
type Owner struct{ Kind, Name string }

// groups are the APIs that kinds of workload are of.
var groups = map[string]string{
	"Deployment": "apps/v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1", "DaemonSet": "apps/v1",
	"Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1",
}

// own is the controller of a pod. A Deployment has its pods through a ReplicaSet,
// which the stage's API server then has: its name is the pod's without the last
// part.
func (s *Stage) own(spec PodSpec) ([]metav1.OwnerReference, error) {
	if spec.Owner == (Owner{}) {
		return nil, nil
	}
	of := controller(spec.Namespace, spec.Owner)
	if spec.Owner.Kind != "Deployment" {
		return of, nil
	}
	set := Owner{Kind: "ReplicaSet", Name: spec.Name}
	if cut := strings.LastIndexByte(spec.Name, '-'); cut > 0 {
		set.Name = spec.Name[:cut]
	}
	self := controller(spec.Namespace, set)
	err := s.API.Put("/apis/apps/v1/namespaces/"+spec.Namespace+"/replicasets/"+set.Name, metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "ReplicaSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: spec.Namespace, Name: set.Name, UID: self[0].UID, OwnerReferences: of},
	})
	return self, err
}

func controller(namespace string, o Owner) []metav1.OwnerReference {
	yes := true
	return []metav1.OwnerReference{{
		APIVersion: groups[o.Kind], Kind: o.Kind, Name: o.Name, UID: types.UID(strings.ToLower(o.Kind) + "/" + namespace + "/" + o.Name), Controller: &yes,
	}}
}
