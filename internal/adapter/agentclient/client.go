// SPDX-License-Identifier: Apache-2.0

// Package agentclient owns asking a node agent, over HTTP, what its node is
// like now: GET /api/v1/node, which adapter agenthttp serves.
//
// It does not try again and keeps nothing: whoever asks decides when.
package agentclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gputally/gputally/internal/core/attribution"
)

// DefaultURL is where an agent serves on its own node.
const DefaultURL = "http://127.0.0.1:9402"

// nodePath is the path of the answer, below the agent's address.
const nodePath = "/api/v1/node"

// maxAnswer bounds what is read of an answer: a node of 16 GPUs with 512
// processes each needs a few MiB.
const maxAnswer = 64 << 20

// Node is an agent's answer.
type Node struct {
	Agent Agent `json:"agent"`
	// Result is the last sample, attributed. It is never nil in what Node returns.
	Result *attribution.Result `json:"result"`
}

// Agent is what an agent says of itself. Fields that this version does not
// know are ignored, so that agents may be newer.
type Agent struct {
	Version string `json:"version"`
}

// Client asks one agent.
type Client struct {
	base string
	http *http.Client
}

// New makes a client for an agent's address: "http://host:port", or the same
// without a scheme.
func New(address string) (*Client, error) {
	text := address
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("agent address %q: want http://HOST:PORT", address)
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), nodePath)
	u.RawQuery, u.Fragment = "", ""
	return &Client{base: u.String(), http: &http.Client{Transport: &http.Transport{IdleConnTimeout: time.Minute}}}, nil
}

// Address is the agent's, without a path.
func (c *Client) Address() string { return c.base }

// Node asks. Errors say what to do where that is known.
func (c *Client) Node(ctx context.Context) (Node, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+nodePath, nil)
	if err != nil {
		return Node{}, fmt.Errorf("ask agent: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.http.Do(req)
	if err != nil {
		var inner *url.Error
		if errors.As(err, &inner) {
			err = inner.Err // the address is said by whoever shows this
		}
		return Node{}, fmt.Errorf("ask agent: %w", err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return Node{}, fmt.Errorf("read agent's answer: %w", err)
	case resp.StatusCode != http.StatusOK:
		return Node{}, refused(resp, body)
	case len(body) > maxAnswer:
		return Node{}, fmt.Errorf("read agent's answer: it is larger than %d MiB", maxAnswer>>20)
	}
	var n Node
	if err := json.Unmarshal(body, &n); err != nil {
		return Node{}, fmt.Errorf("read agent's answer: %w; is this a gputally agent?", err)
	}
	switch {
	case n.Result == nil && n.Agent.Version == "":
		return Node{}, errors.New("read agent's answer: it names neither agent nor result; is this a gputally agent?")
	case n.Result == nil:
		return Node{}, errors.New("the agent has not taken its first sample yet")
	}
	return n, nil
}

// refused is an answer that is none.
func refused(resp *http.Response, body []byte) error {
	if resp.StatusCode == http.StatusNotFound {
		return fmt.Errorf("ask agent: no %s here; is this a gputally agent?", nodePath)
	}
	text := strings.TrimSpace(string(body[:min(len(body), 200)]))
	return fmt.Errorf("ask agent: %s: %s", resp.Status, text)
}
