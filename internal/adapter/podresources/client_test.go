// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// kubelet serves the real PodResources API with answers that a test sets.
type kubelet struct {
	podresourcesv1.UnimplementedPodResourcesListerServer
	mu          sync.Mutex
	list        *podresourcesv1.ListPodResourcesResponse
	allocatable *podresourcesv1.AllocatableResourcesResponse
	allocErr    error
	allocCalls  int
	hang        bool
}

func (k *kubelet) List(ctx context.Context, _ *podresourcesv1.ListPodResourcesRequest) (*podresourcesv1.ListPodResourcesResponse, error) {
	k.mu.Lock()
	hang, answer := k.hang, k.list
	k.mu.Unlock()
	if hang {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return answer, nil
}

func (k *kubelet) GetAllocatableResources(context.Context, *podresourcesv1.AllocatableResourcesRequest) (*podresourcesv1.AllocatableResourcesResponse, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.allocCalls++
	return k.allocatable, k.allocErr
}

func (k *kubelet) set(f func(*kubelet)) { k.mu.Lock(); defer k.mu.Unlock(); f(k) }

// serve starts the kubelet on a socket and returns how to stop it.
func serve(t *testing.T, k *kubelet, socket string) (stop func()) {
	t.Helper()
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	podresourcesv1.RegisterPodResourcesListerServer(server, k)
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(listener) }()
	stop = sync.OnceFunc(func() { server.Stop(); <-done })
	t.Cleanup(stop)
	return stop
}

func dial(t *testing.T, opts Options) *Client {
	t.Helper()
	c, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func grantOf(pod string) *podresourcesv1.ListPodResourcesResponse {
	return &podresourcesv1.ListPodResourcesResponse{PodResources: []*podresourcesv1.PodResources{{Name: pod, Namespace: "default"}}}
}

func TestRead(t *testing.T) {
	share := "s-1"
	k := &kubelet{
		list: &podresourcesv1.ListPodResourcesResponse{PodResources: []*podresourcesv1.PodResources{
			{Name: "plain", Namespace: "default", Containers: []*podresourcesv1.ContainerResources{{Name: "c"}}},
			{Name: "ts", Namespace: "default", Containers: []*podresourcesv1.ContainerResources{{
				Name:    "c",
				Devices: []*podresourcesv1.ContainerDevices{{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-a::1", "GPU-a::2"}}},
			}}},
			{Name: "dra", Namespace: "team", Containers: []*podresourcesv1.ContainerResources{{
				Name: "c",
				DynamicResources: []*podresourcesv1.DynamicResource{
					{ClaimName: "two", ClaimNamespace: "team", ClaimResources: []*podresourcesv1.ClaimResource{
						{DriverName: "gpu.nvidia.com", PoolName: "node-a", DeviceName: "gpu-0", CdiDevices: []*podresourcesv1.CDIDevice{{Name: "k8s/claim=1"}}},
						{DriverName: "gpu.nvidia.com", PoolName: "node-a", DeviceName: "gpu-1", ShareId: &share, CdiDevices: []*podresourcesv1.CDIDevice{{Name: "k8s/claim=1"}, {Name: "k8s/claim=2"}}},
					}},
					{ClaimName: "pending", ClaimNamespace: "team"},
				},
			}}},
		}},
		allocatable: &podresourcesv1.AllocatableResourcesResponse{Devices: []*podresourcesv1.ContainerDevices{{ResourceName: "nvidia.com/gpu", DeviceIds: []string{"GPU-a::0"}}}},
	}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	serve(t, k, socket)
	got, err := dial(t, Options{Socket: socket}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := sample.Grants{
		Readable: true,
		Pods: []workload.PodResources{
			{Namespace: "default", Name: "plain", Containers: []workload.ContainerResources{{Name: "c"}}},
			{Namespace: "default", Name: "ts", Containers: []workload.ContainerResources{{
				Name: "c", Devices: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{"GPU-a::1", "GPU-a::2"}}},
			}}},
			{Namespace: "team", Name: "dra", Containers: []workload.ContainerResources{{
				Name: "c", Dynamic: []workload.ClaimDevices{
					{Namespace: "team", Name: "two", Devices: []workload.ClaimDevice{
						{Driver: "gpu.nvidia.com", Pool: "node-a", Device: "gpu-0"},
						{Driver: "gpu.nvidia.com", Pool: "node-a", Device: "gpu-1", ShareID: "s-1"},
					}},
					{Namespace: "team", Name: "pending"},
				},
			}}},
		},
		Allocatable: []workload.ResourceDevices{{Resource: "nvidia.com/gpu", IDs: []string{"GPU-a::0"}}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestAllocatableIsReadRarely(t *testing.T) {
	k := &kubelet{list: grantOf("a"), allocatable: &podresourcesv1.AllocatableResourcesResponse{}}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	serve(t, k, socket)
	c := dial(t, Options{Socket: socket, AllocatableEvery: time.Hour})
	for range 3 {
		if _, err := c.Read(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if k.allocCalls != 1 {
		t.Errorf("asked %d times, want 1", k.allocCalls)
	}
}

// An error of the second call leaves the grants readable, and the devices of
// the last good answer.
func TestAllocatableFails(t *testing.T) {
	devices := []*podresourcesv1.ContainerDevices{{ResourceName: "r", DeviceIds: []string{"d"}}}
	k := &kubelet{list: grantOf("a"), allocatable: &podresourcesv1.AllocatableResourcesResponse{Devices: devices}}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	serve(t, k, socket)
	c := dial(t, Options{Socket: socket, AllocatableEvery: time.Nanosecond})
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	k.set(func(k *kubelet) { k.allocErr = status.Error(codes.Internal, "broken") })
	got, err := c.Read(t.Context())
	if err == nil || !strings.HasPrefix(err.Error(), "read allocatable resources: "+socket) {
		t.Errorf("got error %v", err)
	}
	if !got.Readable || len(got.Pods) != 1 || len(got.Allocatable) != 1 {
		t.Errorf("got %+v", got)
	}
	k.set(func(k *kubelet) { k.allocErr = status.Error(codes.Unimplemented, "unknown method") })
	if got, err = c.Read(t.Context()); err != nil || got.Allocatable != nil {
		t.Errorf("an old kubelet: got %+v, %v", got.Allocatable, err)
	}
}

func TestReconnectAfterKubeletRestart(t *testing.T) {
	k := &kubelet{list: grantOf("before"), allocatable: &podresourcesv1.AllocatableResourcesResponse{}}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	stop := serve(t, k, socket)
	c := dial(t, Options{Socket: socket, AllocatableEvery: time.Hour})
	if _, err := c.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	if got, err := c.Read(t.Context()); err == nil || got.Readable {
		t.Fatalf("read from a stopped kubelet: %+v", got)
	}
	k.set(func(k *kubelet) { k.list = grantOf("after") })
	serve(t, k, socket)
	for {
		got, err := c.Read(t.Context())
		if err == nil {
			if got.Pods[0].Name != "after" {
				t.Errorf("got %+v", got.Pods)
			}
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if k.allocCalls != 2 {
		t.Errorf("allocatable read %d times, want again after the restart", k.allocCalls)
	}
}

func TestReadErrorsSayWhatToDo(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dead := filepath.Join(dir, "dead.sock")
	listener, err := net.Listen("unix", dead)
	if err != nil {
		t.Fatal(err)
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false)
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	for socket, want := range map[string]string{
		filepath.Join(dir, "none.sock"): "no such socket: is this a kubelet's node, and is the directory mounted?",
		dead:                            "connection refused: the kubelet is not running or is restarting",
		file:                            "connection refused",
	} {
		got, err := dial(t, Options{Socket: socket}).Read(t.Context())
		if err == nil || !strings.HasPrefix(err.Error(), "read pod resources: "+socket+": "+want) {
			t.Errorf("got error %v, want %q", err, want)
		}
		if got.Readable {
			t.Errorf("%s: readable", socket)
		}
	}
}

func TestPermissionDenied(t *testing.T) {
	err := explainDial(&net.OpError{Op: "dial", Err: fs.ErrPermission})
	if want := "permission denied: run as root or mount the socket"; err.Error() != want || !errors.Is(err, fs.ErrPermission) {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestHungKubeletMeetsTheDeadline(t *testing.T) {
	k := &kubelet{hang: true}
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	serve(t, k, socket)
	_, err := dial(t, Options{Socket: socket, Deadline: 50 * time.Millisecond}).Read(t.Context())
	if err == nil || !strings.Contains(err.Error(), "the kubelet gave no answer within 50ms") {
		t.Errorf("got error %v", err)
	}
}

func TestReadCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	socket := filepath.Join(t.TempDir(), "kubelet.sock")
	serve(t, &kubelet{list: grantOf("a")}, socket)
	if _, err := dial(t, Options{Socket: socket}).Read(ctx); err == nil {
		t.Error("no error")
	}
}
