// SPDX-License-Identifier: Apache-2.0

package kubeforward

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/client-go/rest"
)

// ErrNoToken says that the user has a client certificate only. It proves who the user is
// to the API server's TLS alone, and cannot be passed on.
var ErrNoToken = errors.New("your kubeconfig has a client certificate and no token, and the server cannot be shown a certificate through the API server")

// Token is the user's bearer token: what stands in the kubeconfig, what its exec plugin
// or provider gives, or a token of the ServiceAccount that was named.
func (c *Cluster) Token(ctx context.Context) (string, error) {
	if c.o.ServiceAccount != "" {
		return c.serviceAccountToken(ctx)
	}
	if c.config.Impersonate.UserName != "" {
		return "", ErrActsAs
	}
	token, err := c.ownToken(ctx)
	if err != nil {
		return "", fmt.Errorf("get your token from the kubeconfig: %w", err)
	}
	if token == "" {
		return "", fmt.Errorf("%w\n  name a ServiceAccount of %s that may read, with --service-account NAME (you need the verb create on serviceaccounts/token), or give a token with --token-file", ErrNoToken, c)
	}
	return token, nil
}

// ownToken lets client-go put its Authorization header on a request that is not sent:
// all ways to get a token are behind that.
func (c *Cluster) ownToken(ctx context.Context) (string, error) {
	var seen header
	rt, err := rest.HTTPWrappersForConfig(c.config, &seen)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://gputally.invalid/", nil)
	if err != nil {
		return "", err
	}
	resp, err := rt.RoundTrip(r)
	if err != nil {
		return "", err
	}
	resp.Body.Close()
	token, _ := strings.CutPrefix(seen.value, "Bearer ")
	if token == seen.value { // none, or a user name with a password
		return "", nil
	}
	return token, nil
}

// tokenSeconds is how long a ServiceAccount's token is asked for: the least that the API
// server gives.
const tokenSeconds = 600

// tokenRequest is authentication.k8s.io/v1 TokenRequest, as far as it is used.
type tokenRequest struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Spec       struct {
		Audiences []string `json:"audiences"`
		Seconds   int64    `json:"expirationSeconds"`
	} `json:"spec"`
	Status struct {
		Token string `json:"token"`
	} `json:"status"`
}

func (c *Cluster) serviceAccountToken(ctx context.Context) (string, error) {
	ask := tokenRequest{APIVersion: "authentication.k8s.io/v1", Kind: "TokenRequest"}
	ask.Spec.Audiences, ask.Spec.Seconds = []string{c.o.Audience}, tokenSeconds
	body, err := json.Marshal(ask)
	if err != nil {
		return "", fmt.Errorf("ask for a token: %w", err)
	}
	answer := c.core.Post().Namespace(c.o.Namespace).Resource("serviceaccounts").Name(c.o.ServiceAccount).SubResource("token").
		SetHeader("Content-Type", "application/json").Body(body).Do(ctx)
	if err := answer.Error(); err != nil { // Raw's error has not the API server's words
		return "", fmt.Errorf("get a token of ServiceAccount %s/%s: %w", c.o.Namespace, c.o.ServiceAccount, c.denied(err, "create", "serviceaccounts/token"))
	}
	said, err := answer.Raw()
	if err != nil {
		return "", fmt.Errorf("get a token of ServiceAccount %s/%s: %w", c.o.Namespace, c.o.ServiceAccount, err)
	}
	var got tokenRequest
	if err := json.Unmarshal(said, &got); err != nil || got.Status.Token == "" {
		return "", fmt.Errorf("get a token of ServiceAccount %s/%s: the answer holds none (%v)", c.o.Namespace, c.o.ServiceAccount, err)
	}
	return got.Status.Token, nil
}
