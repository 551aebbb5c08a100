// SPDX-License-Identifier: Apache-2.0

package stage

import (
	"fmt"
	"net"
	"net/http"

	"google.golang.org/grpc"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"
)

// Down ends the kubelet, as a restart does: its connections end and its socket
// is gone. What it knows stays for [Kubelet.Up].
func (k *Kubelet) Down() { k.stop() }

// Up starts the kubelet again after Down, on a new socket of the same name.
func (k *Kubelet) Up() error {
	l, err := net.Listen("unix", k.Socket)
	if err != nil {
		return fmt.Errorf("start kubelet stand-in again: %w", err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.server = grpc.NewServer()
	podresourcesv1.RegisterPodResourcesListerServer(k.server, k)
	go func(s *grpc.Server) { _ = s.Serve(l) }(k.server) // ends with stop
	return nil
}

// Down makes the API server unreachable: nobody listens and every connection
// is cut. Its objects stay for [APIServer.Up], and may be changed meanwhile.
func (s *APIServer) Down() error {
	if err := s.server.Close(); err != nil {
		return fmt.Errorf("end API server stand-in: %w", err)
	}
	return nil
}

// Up starts the API server again after Down, at the same address.
func (s *APIServer) Up() error {
	l, err := net.Listen("tcp", s.Address)
	if err != nil {
		return fmt.Errorf("start API server stand-in again: %w", err)
	}
	s.server = &http.Server{Handler: s}
	go func(h *http.Server) { _ = h.Serve(l) }(s.server) // ends with stop
	return nil
}
