// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// tokenRequest has the API server make a token: for an audience, or for itself, and
// bound to a pod, or to nothing.
func tokenRequest(t *testing.T, account, audience, podName string) string {
	t.Helper()
	spec := map[string]any{"expirationSeconds": 600}
	if audience != "" {
		spec["audiences"] = []string{audience}
	}
	if podName != "" {
		spec["boundObjectRef"] = map[string]string{"kind": "Pod", "apiVersion": "v1", "name": podName}
	}
	ns, name, ok := strings.Cut(account, "/")
	if !ok {
		ns, name = "default", account
	}
	body, err := json.Marshal(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := call(http.MethodPost, "/api/v1/namespaces/"+ns+"/serviceaccounts/"+name+"/token", "application/json", body)
	if err != nil {
		t.Fatalf("make a token of %s for %q, bound to pod %q: %v", account, audience, podName, err)
	}
	var out struct {
		Status struct{ Token string }
	}
	if err := json.Unmarshal(answer, &out); err != nil || out.Status.Token == "" {
		t.Fatalf("make a token of %s: %v: %s", account, err, answer)
	}
	return out.Status.Token
}

// signingKey is the key with which the API server signs tokens of ServiceAccounts.
func signingKey(t *testing.T) *rsa.PrivateKey {
	t.Helper()
	const file = "/run/node/tls/service-accounts.key"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	if block == nil {
		t.Fatalf("%s is no PEM file", file)
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return key.(*rsa.PrivateKey)
}

// endingAt is a token that the API server made, with another end, and signed with its key
// as it would: it makes none itself that holds for less than ten minutes.
func endingAt(t *testing.T, token string, end time.Time) string {
	t.Helper()
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string]json.RawMessage{}
	if err := json.Unmarshal(payload, &claims); err != nil {
		t.Fatal(err)
	}
	seconds := func(at time.Time) json.RawMessage { return fmt.Append(nil, at.Unix()) }
	claims["iat"], claims["nbf"], claims["exp"] = seconds(end.Add(-time.Hour)), seconds(end.Add(-time.Hour)), seconds(end)
	if payload, err = json.Marshal(claims); err != nil {
		t.Fatal(err)
	}
	signed := parts[0] + "." + base64.RawURLEncoding.EncodeToString(payload)
	hash := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, signingKey(t), crypto.SHA256, hash[:])
	if err != nil {
		t.Fatal(err)
	}
	return signed + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// How long after its end the API server still takes a token: clocks differ (DefaultLeeway
// of go-jose's jwt), and it keeps an answer itself (TokenSuccessCacheTTL in
// k8s.io/kubernetes/pkg/kubeapiserver/options).
const (
	clockLeeway = time.Minute
	answerKept  = 10 * time.Second
)

// tokensExpire: a token is refused when its time is over, by Kubernetes and so by us. The
// same one with a later end is let in: nothing else was wrong with it.
func tokensExpire(t *testing.T) {
	mine, reader := tokenRequest(t, "gputally-agent", "gputally", "agent"), tokenRequest(t, "reader", "gputally", "")
	deliver := func(token string, status int, says string) error {
		return asked(t, "POST", pathBatches, token, deliveryOf("test", "gpu-node-1"), status, says)
	}
	if err := deliver(endingAt(t, mine, time.Now().Add(time.Hour)), 200, `"acks"`); err != nil {
		t.Errorf("a token signed anew: %v", err)
	}
	end := time.Now().Add(-5 * time.Minute)
	if err := deliver(endingAt(t, mine, end), 401, "the bearer token ended at "+end.UTC().Format(time.RFC3339)); err != nil {
		t.Errorf("an agent's that ended: %v", err)
	}
	if err := asked(t, "GET", pathStatus, endingAt(t, reader, end), "", 401, "ended at"); err != nil {
		t.Errorf("a reader's that ended: %v", err)
	}
	if good, why := reviewed(t, endingAt(t, mine, end)); good || !strings.Contains(why, "expired") {
		t.Errorf("Kubernetes says of the agent's: authenticated %v, %q", good, why)
	}
}

// endsInUse has an agent's token end while it is used, and goes on asking meanwhile. The
// returned function waits for the end and checks when it came: who was let in is not kept
// beyond what Kubernetes says.
func endsInUse(t *testing.T) (check func(*testing.T)) {
	t.Helper()
	end := time.Now().Add(15*time.Second - clockLeeway)
	token := endingAt(t, tokenRequest(t, "gputally-agent", "gputally", "agent"), end)
	if err := asked(t, "GET", pathMarks, token, "", 200); err != nil {
		t.Errorf("a token for which Kubernetes still has patience: %v", err)
	}
	refused := make(chan time.Time, 1)
	go func() {
		for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(200 * time.Millisecond) {
			if status, _, err := ask(t, "GET", pathMarks, token, ""); err == nil && status == http.StatusUnauthorized {
				refused <- time.Now()
				break
			}
		}
		close(refused)
	}()
	return func(t *testing.T) {
		at, ok := <-refused
		if !ok {
			t.Fatalf("a token that ended at %v is still taken", end)
		}
		if late := at.Sub(end) - clockLeeway - answerKept; late > 10*time.Second {
			t.Errorf("a token was taken until %v after Kubernetes took it no longer", late)
		}
		if err := asked(t, "GET", pathMarks, token, "", 401, "the bearer token ended at"); err != nil {
			t.Error(err)
		}
	}
}

// reviewed is what the API server says of a token for our audience.
func reviewed(t *testing.T, token string) (authenticated bool, why string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
		"spec": map[string]any{"token": token, "audiences": []string{"gputally"}}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := call(http.MethodPost, "/apis/authentication.k8s.io/v1/tokenreviews", "application/json", body)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Status struct {
			Authenticated bool
			Error         string
		}
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		t.Fatal(err)
	}
	return out.Status.Authenticated, out.Status.Error
}
