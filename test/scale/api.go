// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

// trusting is a client that trusts the API server's certificate, which is there once
// it has started for the first time.
func trusting() (*http.Client, error) {
	pem, err := os.ReadFile(serverCA)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	return &http.Client{Timeout: 2 * time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}, MaxIdleConnsPerHost: 64}}, nil
}

// administrator is the client of the cluster's administrator.
var administrator struct {
	mu     sync.Mutex
	client *http.Client
}

func admin() (c *http.Client, err error) {
	administrator.mu.Lock()
	defer administrator.mu.Unlock()
	if administrator.client == nil {
		administrator.client, err = trusting()
	}
	return administrator.client, err
}

// refused is an answer of the API server that is no success.
type refused struct {
	code int
	body string
}

func (r *refused) Error() string { return fmt.Sprintf("%d: %.300s", r.code, r.body) }

// call sends one request and returns the answer's body. out is marshalled where it
// is not nil.
func call(ctx context.Context, method, path, contentType string, body any) ([]byte, error) {
	client, err := admin()
	if err != nil {
		return nil, err
	}
	var text []byte
	if body != nil {
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, apiServer+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer admin-token")
	if contentType == "" {
		contentType = "application/json"
	}
	req.Header.Set("Content-Type", contentType)
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode >= 300 {
		err = &refused{resp.StatusCode, string(answer)}
	}
	if err != nil {
		return answer, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return answer, nil
}

// get reads an answer into out.
func get(ctx context.Context, path string, out any) error {
	text, err := call(ctx, http.MethodGet, path, "", nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(text, out)
}

// create makes an object. Admission refuses pods until the controller manager has
// made what a namespace needs, so it tries for a while.
func create(ctx context.Context, path string, body any) error {
	return until(ctx, 30*time.Second, 200*time.Millisecond, "create in "+path, func() error {
		_, err := call(ctx, http.MethodPost, path, "", body)
		return err
	})
}

// each does n things, so many at a time; the first error is returned.
func each(n, atOnce int, do func(int) error) error {
	var (
		wg    sync.WaitGroup
		once  sync.Once
		first error
	)
	next := make(chan int)
	for range atOnce {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					once.Do(func() { first = err })
				}
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return first
}
