// SPDX-License-Identifier: Apache-2.0

package kubeforward

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/httpstream"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	streaming "k8s.io/streaming/pkg/httpstream"
)

// Forward is a way to one port of one pod. All connections share one to the API server.
type Forward struct {
	cluster *Cluster
	pod     Pod

	mu      sync.Mutex
	streams httpstream.Connection
	last    int
}

// Forward makes a way to a pod; it does not connect.
func (c *Cluster) Forward(p Pod) *Forward { return &Forward{cluster: c, pod: p} }

// DialContext connects to the pod's port, whatever address it is given.
func (f *Forward) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	type made struct {
		conn net.Conn
		err  error
	}
	done := make(chan made, 1)
	go func() { // the libraries below take no context
		conn, err := f.dial()
		done <- made{conn, err}
	}()
	select {
	case m := <-done:
		return m.conn, m.err
	case <-ctx.Done():
		go func() {
			if m := <-done; m.conn != nil {
				m.conn.Close()
			}
		}()
		return nil, ctx.Err()
	}
}

func (f *Forward) dial() (net.Conn, error) {
	streams, id, err := f.connection()
	if err != nil {
		return nil, err
	}
	h := http.Header{}
	h.Set(corev1.StreamType, corev1.StreamTypeError)
	h.Set(corev1.PortHeader, strconv.Itoa(int(f.pod.Port)))
	h.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(id))
	trouble, err := streams.CreateStream(h)
	if err != nil {
		return nil, fmt.Errorf("open a stream to pod %s: %w", f.pod.Name, err)
	}
	trouble.Close() // nothing is written to it
	h.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := streams.CreateStream(h)
	if err != nil {
		streams.RemoveStreams(trouble)
		return nil, fmt.Errorf("open a stream to pod %s: %w", f.pod.Name, err)
	}
	c := &conn{Stream: data, trouble: trouble, streams: streams, pod: f.pod}
	go c.listen()
	return c, nil
}

// connection is the one to the API server, made again where it has ended, and the number
// of the next pair of streams.
func (f *Forward) connection() (httpstream.Connection, int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams != nil {
		select {
		case <-f.streams.CloseChan():
			f.streams = nil
		default:
		}
	}
	if f.streams == nil {
		dialer, err := f.dialer()
		if err != nil {
			return nil, 0, err
		}
		streams, _, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		if err != nil {
			return nil, 0, fmt.Errorf("forward to pod %s: %w", f.pod.Name, f.cluster.denied(err, "get and create", "pods/portforward"))
		}
		f.streams, f.last = streams, 0
	}
	f.last++
	return f.streams, f.last, nil
}

// dialer upgrades to a WebSocket (which begins as a GET, so that RBAC asks for the verb
// get, and since 1.35 for create as well), and to SPDY where a proxy or an API server before
// 1.31 does not speak that: as kubectl does.
func (f *Forward) dialer() (httpstream.Dialer, error) {
	c := f.cluster
	to := c.core.Post().Namespace(c.o.Namespace).Resource("pods").Name(f.pod.Name).SubResource("portforward").URL()
	transport, upgrader, err := spdy.RoundTripperFor(c.config)
	if err != nil {
		return nil, fmt.Errorf("forward to pod %s: %w", f.pod.Name, err)
	}
	old := spdy.NewDialer(upgrader, &http.Client{Transport: transport}, http.MethodPost, to)
	tunnel, err := portforward.NewSPDYOverWebsocketDialer(to, c.config)
	if err != nil {
		return nil, fmt.Errorf("forward to pod %s: %w", f.pod.Name, err)
	}
	// Of the two packages with such an error client-go's WebSockets take this one (since 0.37).
	return portforward.NewFallbackDialer(tunnel, old, func(err error) bool {
		return streaming.IsUpgradeFailure(err) || streaming.IsHTTPSProxyError(err)
	}), nil
}

// Close ends all connections.
func (f *Forward) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.streams == nil {
		return nil
	}
	err := f.streams.Close()
	f.streams = nil
	return err
}

// conn is one connection to the pod's port: a stream, and another one on which the
// kubelet says what went wrong.
type conn struct {
	httpstream.Stream
	trouble httpstream.Stream
	streams httpstream.Connection
	pod     Pod

	mu   sync.Mutex
	said error
	once sync.Once
}

// listen waits for what the kubelet says, and ends the connection then.
func (c *conn) listen() {
	text, err := io.ReadAll(io.LimitReader(c.trouble, 1<<16))
	if err != nil || len(text) == 0 {
		return // the connection ended, and whoever reads it sees that
	}
	c.mu.Lock()
	c.said = fmt.Errorf("port %d of pod %s: %s", c.pod.Port, c.pod.Name, text)
	c.mu.Unlock()
	_ = c.Stream.Reset()
}

// Read reads what the pod sent. The end of it is what the kubelet said, if it did.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Stream.Read(b)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.said != nil {
			err = c.said
		}
	}
	return n, err
}

// Close ends the connection.
func (c *conn) Close() error {
	var err error
	c.once.Do(func() {
		err = errors.Join(c.Stream.Close(), c.Stream.Reset(), c.trouble.Reset())
		c.streams.RemoveStreams(c.Stream, c.trouble)
	})
	return err
}

// LocalAddr is a name, since there is no address on this side.
func (c *conn) LocalAddr() net.Addr { return address("kubeconfig") }

// RemoteAddr names the pod.
func (c *conn) RemoteAddr() net.Addr { return address("pod/" + c.pod.Name) }

// SetDeadline does nothing: a stream has no deadlines, and who waits has a context.
func (c *conn) SetDeadline(time.Time) error { return nil }

// SetReadDeadline does nothing, as SetDeadline.
func (c *conn) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline does nothing, as SetDeadline.
func (c *conn) SetWriteDeadline(time.Time) error { return nil }

type address string

// Network is the kind of address.
func (address) Network() string { return "portforward" }

// String is the address.
func (a address) String() string { return string(a) }
