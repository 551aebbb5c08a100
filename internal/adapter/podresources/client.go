// SPDX-License-Identifier: Apache-2.0

package podresources

import (
	"context"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	podresourcesv1 "k8s.io/kubelet/pkg/apis/podresources/v1"

	"github.com/gputally/gputally/internal/core/sample"
	"github.com/gputally/gputally/internal/core/workload"
)

// DefaultSocket is where the kubelet listens.
const DefaultSocket = "/var/lib/kubelet/pod-resources/kubelet.sock"

// maxAnswer bounds one answer. A node of 16 GPUs with 100 replicas each, all
// granted, is well under 1 MiB.
const maxAnswer = 16 << 20

// Options configure a Client. The zero value is usable.
type Options struct {
	// Socket is the path of the kubelet's socket; DefaultSocket if empty.
	Socket string
	// Deadline bounds one call; 2 s if zero.
	Deadline time.Duration
	// AllocatableEvery is how long an answer of GetAllocatableResources is
	// good for; 60 s if zero. The devices of a node rarely change.
	AllocatableEvery time.Duration
}

func (o Options) withDefaults() Options {
	if o.Socket == "" {
		o.Socket = DefaultSocket
	}
	if o.Deadline <= 0 {
		o.Deadline = 2 * time.Second
	}
	if o.AllocatableEvery <= 0 {
		o.AllocatableEvery = time.Minute
	}
	return o
}

// Client reads grants from the kubelet. It connects when first used, and again
// after the kubelet was restarted. It is safe for concurrent use.
type Client struct {
	opts Options
	conn *grpc.ClientConn
	api  podresourcesv1.PodResourcesListerClient

	mu          sync.Mutex
	allocatable []workload.ResourceDevices
	readAt      time.Time // of allocatable; zero when it must be read
}

// New returns a client. The socket need not exist yet.
func New(opts Options) (*Client, error) {
	opts = opts.withDefaults()
	// The kubelet is on this machine: try again soon, not after two minutes.
	retry := backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 2 * time.Second}
	conn, err := grpc.NewClient("unix:"+opts.Socket,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: retry, MinConnectTimeout: opts.Deadline}),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(maxAnswer)),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
	)
	if err != nil {
		return nil, fmt.Errorf("connect to pod resources: %s: %w", opts.Socket, err)
	}
	return &Client{opts: opts, conn: conn, api: podresourcesv1.NewPodResourcesListerClient(conn)}, nil
}

// Close ends the connection. The client cannot be used afterwards.
func (c *Client) Close() error {
	if err := c.conn.Close(); err != nil {
		return fmt.Errorf("close pod resources: %w", err)
	}
	return nil
}

// Read asks for the grants of this moment and, where the last answer is older
// than AllocatableEvery, for the allocatable devices.
//
// Grants.Readable is whether the grants were read; when it is false nothing is
// known of them, and the error says why. An error beside readable grants
// concerns the allocatable devices alone: those of the last good answer are
// returned, or nil.
func (c *Client) Read(ctx context.Context) (sample.Grants, error) {
	pods, err := c.list(ctx)
	if err != nil {
		c.forgetAge()
		return sample.Grants{}, c.explain("read pod resources", err)
	}
	devices, err := c.readAllocatable(ctx)
	grants := sample.Grants{Readable: true, Pods: pods, Allocatable: devices}
	if err != nil {
		return grants, c.explain("read allocatable resources", err)
	}
	return grants, nil
}

func (c *Client) list(ctx context.Context) ([]workload.PodResources, error) {
	ctx, cancel := context.WithTimeout(ctx, c.opts.Deadline)
	defer cancel()
	answer, err := c.api.List(ctx, &podresourcesv1.ListPodResourcesRequest{})
	if err != nil {
		return nil, err
	}
	return Pods(answer), nil
}

func (c *Client) readAllocatable(ctx context.Context) ([]workload.ResourceDevices, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readAt.IsZero() && time.Since(c.readAt) < c.opts.AllocatableEvery {
		return c.allocatable, nil
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.Deadline)
	defer cancel()
	answer, err := c.api.GetAllocatableResources(ctx, &podresourcesv1.AllocatableResourcesRequest{})
	if status.Code(err) == codes.Unimplemented { // a kubelet before 1.23
		c.allocatable, c.readAt = nil, time.Now()
		return nil, nil
	}
	if err != nil {
		return c.allocatable, err
	}
	c.allocatable, c.readAt = Devices(answer.GetDevices()), time.Now()
	return c.allocatable, nil
}

// forgetAge makes the next good Read ask for the allocatable devices again: a
// kubelet that was away may have come back with other ones.
func (c *Client) forgetAge() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readAt = time.Time{}
}

// explain turns a gRPC error into words about the socket.
func (c *Client) explain(operation string, err error) error {
	switch status.Code(err) {
	case codes.DeadlineExceeded:
		return fmt.Errorf("%s: %s: the kubelet gave no answer within %s: %w", operation, c.opts.Socket, c.opts.Deadline, err)
	case codes.Unavailable:
		if dialErr := probe(c.opts.Socket); dialErr != nil {
			return fmt.Errorf("%s: %s: %w", operation, c.opts.Socket, dialErr)
		}
	case codes.ResourceExhausted:
		return fmt.Errorf("%s: %s: the kubelet limits calls, or its answer is above %d bytes: %w", operation, c.opts.Socket, maxAnswer, err)
	}
	return fmt.Errorf("%s: %s: %w", operation, c.opts.Socket, err)
}
