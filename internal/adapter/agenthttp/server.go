// SPDX-License-Identifier: Apache-2.0

package agenthttp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// DefaultListen is loopback: what runs on a node is nobody else's business
// unless the operator says so.
const DefaultListen = "127.0.0.1:9402"

// Endpoints are what the server asks its owner.
type Endpoints struct {
	Metrics http.Handler
	// Healthy and Ready return what is wrong, or nil.
	Healthy, Ready func() error
	Node           func() Node
}

// Handler serves the endpoints.
func Handler(e Endpoints) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", e.Metrics)
	mux.HandleFunc("GET /healthz", probe(e.Healthy))
	mux.HandleFunc("GET /readyz", probe(e.Ready))
	mux.HandleFunc("GET /api/v1/node", func(w http.ResponseWriter, _ *http.Request) { serveNode(w, e.Node()) })
	mux.HandleFunc("GET /{$}", index)
	return mux
}

func probe(check func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		plain(w)
		if err := check(); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, err)
			return
		}
		fmt.Fprintln(w, "ok")
	}
}

func serveNode(w http.ResponseWriter, n Node) {
	body, err := json.Marshal(n)
	if err != nil {
		http.Error(w, "encode node: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(body, '\n')) // a client that left is not our trouble
}

func index(w http.ResponseWriter, _ *http.Request) {
	plain(w)
	fmt.Fprint(w, `gputally-agent

/metrics       Prometheus and OpenMetrics (docs/metrics.md)
/api/v1/node   who holds which GPU memory now, as JSON; gputally top reads it
/readyz        200 once the first sample is done
/healthz       200 while the sampling loop comes round
`)
}

func plain(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/plain; charset=utf-8") }

// Listen opens the address, so that a mistake is found at the start.
func Listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w (set another address with --listen HOST:PORT)", address, err)
	}
	return l, nil
}

// Serve answers on l until ctx ends; requests under way then have five seconds.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: 2 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := s.Shutdown(grace)
	if serve := <-failed; !errors.Is(serve, http.ErrServerClosed) {
		err = errors.Join(err, serve)
	}
	if err != nil {
		return fmt.Errorf("stop http: %w", errors.Join(err, s.Close()))
	}
	return nil
}
