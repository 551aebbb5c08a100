// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"
)

// DefaultListen is loopback: who can deliver can bill.
const DefaultListen = "127.0.0.1:9403"

// ListenOptions say where to listen, and what protects it.
type ListenOptions struct {
	Address string
	// Auth must be set for an address that others can reach.
	Auth Auth
	// CertFile and KeyFile turn on TLS. They are read again when they change.
	CertFile, KeyFile string
	// PlainBehindProxy allows tokens without TLS, where something else encrypts.
	PlainBehindProxy bool
}

// Listen opens the address, with TLS where there is a certificate.
func Listen(o ListenOptions) (net.Listener, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("listen on %q: %w", o.Address, err)
	}
	l, err := net.Listen("tcp", o.Address)
	if err != nil {
		return nil, fmt.Errorf("listen on %q: %w (set another address)", o.Address, err)
	}
	if o.CertFile == "" {
		return l, nil
	}
	certificate := &certificateFile{cert: o.CertFile, key: o.KeyFile}
	if _, err := certificate.get(nil); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return tls.NewListener(l, &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate.get, NextProtos: []string{"http/1.1"}}), nil
}

func (o ListenOptions) check() error {
	if (o.CertFile == "") != (o.KeyFile == "") {
		return errors.New("a certificate needs its key, and a key its certificate: give both files")
	}
	host, _, err := net.SplitHostPort(o.Address)
	if err != nil {
		return fmt.Errorf("%w: want HOST:PORT", err)
	}
	if host == "localhost" {
		return nil
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsLoopback() {
		return nil
	}
	switch {
	case o.Auth == nil:
		return errors.New("others can reach this address, and nothing says who may deliver: set a token file, or --kube-auth in a cluster, or listen on 127.0.0.1")
	case o.CertFile == "" && !o.PlainBehindProxy:
		return errors.New("tokens would cross the network in the clear: give a certificate and its key, or say that something else encrypts")
	}
	return nil
}

// certificateFile reads a certificate again when its files change.
type certificateFile struct {
	cert, key string

	mu       sync.Mutex
	loaded   *tls.Certificate
	modified [2]time.Time
}

func (c *certificateFile) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	modified, err := c.times()
	if err == nil && c.loaded != nil && modified == c.modified {
		return c.loaded, nil
	}
	if err == nil {
		var pair tls.Certificate
		if pair, err = tls.LoadX509KeyPair(c.cert, c.key); err == nil {
			c.loaded, c.modified = &pair, modified
			return c.loaded, nil
		}
	}
	if c.loaded != nil {
		return c.loaded, nil // half written: the old one serves on
	}
	return nil, fmt.Errorf("load certificate: %w", err)
}

func (c *certificateFile) times() (out [2]time.Time, err error) {
	for i, path := range []string{c.cert, c.key} {
		info, err := os.Stat(path)
		if err != nil {
			return out, err
		}
		out[i] = info.ModTime()
	}
	return out, nil
}

// Serve answers on l until ctx ends; requests under way then have ten seconds.
func Serve(ctx context.Context, l net.Listener, h http.Handler) error {
	s := &http.Server{Handler: h, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 2 * time.Minute, WriteTimeout: 3 * time.Minute, IdleTimeout: 3 * time.Minute}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve deliveries: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	err := s.Shutdown(grace)
	if serve := <-failed; !errors.Is(serve, http.ErrServerClosed) {
		err = errors.Join(err, serve)
	}
	if err != nil {
		return fmt.Errorf("stop serving deliveries: %w", errors.Join(err, s.Close()))
	}
	return nil
}
