// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"context"
	"fmt"
	"net"
	"sync"

	"google.golang.org/grpc"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Kubelet serves the kubelet's PodResources API from what it was told.
type Kubelet struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
	// Socket is where it listens.
	Socket string

	server *grpc.Server
	mu     sync.Mutex
	order  []string
	pods   map[string]*podresourcesv1.PodResources
	offers []*podresourcesv1.ContainerDevices
}

// startKubelet listens on a socket.
func startKubelet(socket string) (*Kubelet, error) {
	l, err := net.Listen("unix", socket)
	if err != nil {
		return nil, fmt.Errorf("start kubelet stand-in: %w", err)
	}
	k := &Kubelet{Socket: socket, server: grpc.NewServer(), pods: map[string]*podresourcesv1.PodResources{}}
	podresourcesv1.RegisterPodResourcesListerServer(k.server, k)
	go func() { _ = k.server.Serve(l) }() // ends with stop
	return k, nil
}

func (k *Kubelet) stop() { k.server.Stop() }

// Offer says which devices the node has under a resource.
func (k *Kubelet) Offer(resource string, ids ...string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.offers = append(k.offers, &podresourcesv1.ContainerDevices{ResourceName: resource, DeviceIds: ids})
}

// Offered is how many devices the node has, by resource.
func (k *Kubelet) Offered() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[string]int{}
	for _, o := range k.offers {
		out[o.ResourceName] += len(o.DeviceIds)
	}
	return out
}

// grant lists a pod with what its containers were given.
func (k *Kubelet) grant(p *podresourcesv1.PodResources) {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := p.Namespace + "/" + p.Name
	if k.pods[key] == nil {
		k.order = append(k.order, key)
	}
	k.pods[key] = p
}

func (k *Kubelet) revoke(namespace, name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.pods, namespace+"/"+name)
}

// List answers as the kubelet does: every pod with its devices.
func (k *Kubelet) List(context.Context, *podresourcesv1.ListPodResourcesRequest) (*podresourcesv1.ListPodResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := &podresourcesv1.ListPodResourcesResponse{}
	for _, key := range k.order {
		if p := k.pods[key]; p != nil {
			out.PodResources = append(out.PodResources, p)
		}
	}
	return out, nil
}

// GetAllocatableResources answers what the node offers.
func (k *Kubelet) GetAllocatableResources(context.Context, *podresourcesv1.AllocatableResourcesRequest) (*podresourcesv1.AllocatableResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return &podresourcesv1.AllocatableResourcesResponse{Devices: k.offers}, nil
}
