// SPDX-License-Identifier: Apache-2.0

package agenthttp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// maxNode bounds the answer of one agent: a node of 16 GPUs and 512 processes
// each is under 4 MiB.
const maxNode = 32 << 20

// NodeURL completes an agent's address as people type it ("gpu-1:9402",
// "http://gpu-1:9402/") to the address of its picture of the node.
func NodeURL(address string) (string, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return "", fmt.Errorf("agent address %q: want HOST:PORT or http://HOST:PORT", address)
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = "/api/v1/node"
	}
	return u.String(), nil
}

// Fetch reads /api/v1/node of the agent at address.
func Fetch(ctx context.Context, client *http.Client, address string) (Node, error) {
	var n Node
	target, err := NodeURL(address)
	if err != nil {
		return n, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return n, fmt.Errorf("read agent %s: %w", address, err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return n, fmt.Errorf("read agent %s: %w", address, err)
	}
	defer resp.Body.Close()
	body := io.LimitReader(resp.Body, maxNode)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, 200))
		return n, fmt.Errorf("read agent %s: %s: %s", address, resp.Status, strings.TrimSpace(string(text)))
	}
	if err := json.NewDecoder(body).Decode(&n); err != nil {
		return n, fmt.Errorf("read agent %s: decode answer: %w", address, err)
	}
	return n, nil
}
