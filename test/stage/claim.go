// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// gpuDriver is NVIDIA's DRA driver.
const gpuDriver = "gpu.nvidia.com"

// Device is a GPU as the driver publishes it: its name in the node's pool.
type Device struct{ Name, UUID, Product string }

// Publish stores the ResourceSlice of the node's GPUs.
func (s *Stage) Publish(devices ...Device) error {
	slice := resourcev1.ResourceSlice{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"},
		ObjectMeta: metav1.ObjectMeta{Name: s.Node + "-" + gpuDriver},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: gpuDriver, NodeName: &s.Node, Pool: resourcev1.ResourcePool{Name: s.Node, Generation: 1, ResourceSliceCount: 1},
		},
	}
	for _, d := range devices {
		kind := "gpu"
		slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: d.Name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type": {StringValue: &kind}, "uuid": {StringValue: &d.UUID}, "productName": {StringValue: &d.Product},
		}})
	}
	return s.API.Put("/apis/resource.k8s.io/v1/resourceslices/"+slice.Name, slice)
}

// Allocate stores a ResourceClaim that was given a device of the node's pool. Pods
// that name it in their Claims have it together.
func (s *Stage) Allocate(namespace, name, device string) error {
	c := &resourcev1.ResourceClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("claim/" + namespace + "/" + name)},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
			Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: gpuDriver},
		}}}},
	}
	c.Status.Allocation = &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
		{Request: "gpu", Driver: gpuDriver, Pool: s.Node, Device: device},
	}}}
	s.mu.Lock()
	s.claims[namespace+"/"+name] = c
	s.mu.Unlock()
	return s.API.Put(claimPath(c), c)
}

func claimPath(c *resourcev1.ResourceClaim) string {
	return "/apis/resource.k8s.io/v1/namespaces/" + c.Namespace + "/resourceclaims/" + c.Name
}

// claims are the pod's claims as its specification names them.
func (p *Pod) claims() (out []corev1.PodResourceClaim) {
	for i := range p.Spec.Claims {
		out = append(out, corev1.PodResourceClaim{Name: p.Spec.Claims[i], ResourceClaimName: &p.Spec.Claims[i]})
	}
	return out
}

// claimed reserves the pod's claims for it, and is what the kubelet lists of them.
func (p *Pod) claimed() (out []*podresourcesv1.DynamicResource, err error) {
	me := resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p.Spec.Name, UID: types.UID(p.UID)}
	for _, name := range p.Spec.Claims {
		err := p.stage.change(p.Spec.Namespace, name, func(c *resourcev1.ResourceClaim) {
			c.Status.ReservedFor = append(c.Status.ReservedFor, me)
			given := &podresourcesv1.DynamicResource{ClaimNamespace: c.Namespace, ClaimName: c.Name}
			for _, r := range c.Status.Allocation.Devices.Results {
				given.ClaimResources = append(given.ClaimResources, &podresourcesv1.ClaimResource{DriverName: r.Driver, PoolName: r.Pool, DeviceName: r.Device})
			}
			out = append(out, given)
		})
		if err != nil {
			return nil, fmt.Errorf("pod %s/%s: %w", p.Spec.Namespace, p.Spec.Name, err)
		}
	}
	return out, nil
}

// release takes the pod off its claims.
func (p *Pod) release() (err error) {
	for _, name := range p.Spec.Claims {
		err = errors.Join(err, p.stage.change(p.Spec.Namespace, name, func(c *resourcev1.ResourceClaim) {
			c.Status.ReservedFor = slices.DeleteFunc(c.Status.ReservedFor, func(r resourcev1.ResourceClaimConsumerReference) bool { return string(r.UID) == p.UID })
		}))
	}
	return err
}

// change changes a claim and stores it anew.
func (s *Stage) change(namespace, name string, do func(*resourcev1.ResourceClaim)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.claims[namespace+"/"+name]
	if c == nil {
		return fmt.Errorf("there is no claim %s: Allocate it first", name)
	}
	do(c)
	return s.API.Put(claimPath(c), c)
}
