// SPDX-License-Identifier: Apache-2.0

package kubeauth_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	authn "k8s.io/api/authentication/v1"

	"github.com/gputally/gputally/internal/adapter/kubeauth"
	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/test/reviews"
)

const agentUser = "system:serviceaccount:gputally:gputally-agent"

// clock is a time that a test moves.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time           { c.mu.Lock(); defer c.mu.Unlock(); return c.at }
func (c *clock) move(d time.Duration)     { c.mu.Lock(); defer c.mu.Unlock(); c.at = c.at.Add(d) }
func (c *clock) in(d time.Duration) int64 { return c.now().Add(d).Unix() }

// bench is an authority before a stand-in, and what it told the log.
type bench struct {
	*kubeauth.Authority
	kube *reviews.Server
	time *clock
	mu   sync.Mutex
	said strings.Builder
}

func (b *bench) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.said.Write(p)
}

func (b *bench) log() string { b.mu.Lock(); defer b.mu.Unlock(); return b.said.String() }

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{kube: reviews.New(t), time: &clock{at: time.Date(2026, 12, 2, 8, 0, 0, 0, time.UTC)}}
	var err error
	b.Authority, err = kubeauth.New(kubeauth.Options{
		Config: b.kube.Config(), Audience: "gputally", Agents: []kubeauth.Account{{Namespace: "gputally", Name: "gputally-agent"}}, Cluster: "prod",
		Log: slog.New(slog.NewTextHandler(b, nil)), Now: b.time.now,
	})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// token is a JSON Web Token that says what a test wants. Nobody has signed it.
func token(t *testing.T, claims map[string]any) string {
	t.Helper()
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.RawURLEncoding.EncodeToString
	return enc([]byte(`{"alg":"RS256"}`)) + "." + enc(body) + "." + enc([]byte("signature"))
}

// agent is a token of the agent's pod on a node, as the API server knows it.
func (b *bench) agent(t *testing.T, node string, ends time.Duration) string {
	t.Helper()
	k := token(t, map[string]any{"aud": []string{"gputally"}, "exp": b.time.in(ends), "jti": node})
	b.kube.Know(k, reviews.Token{User: agentUser, Audiences: []string{"gputally"}, Extra: map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {node}}})
	return k
}

// denied checks a refusal.
func denied(t *testing.T, err error, known bool, says ...string) {
	t.Helper()
	var d *access.Denied
	if !errors.As(err, &d) || d.Known != known || d.Hint == "" {
		t.Errorf("%v, want a denial with a hint, known %v", err, known)
		return
	}
	for _, want := range says {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// TestAgentSpeaksForItsNode and no other, and for no other cluster.
func TestAgentSpeaksForItsNode(t *testing.T) {
	b := newBench(t)
	s, err := b.Agent(t.Context(), b.agent(t, "n1", time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Covers("prod", "n1"); err != nil || s.Name != agentUser {
		t.Errorf("%+v: %v", s, err)
	}
	denied(t, s.Covers("prod", "n2"), true, `"n2"`, `"n1"`)
	denied(t, s.Covers("", "n1"), true, `""`, `"prod"`)
}

func TestAgentsThatAreNotLetIn(t *testing.T) {
	b := newBench(t)
	forUs := func(id string) string {
		return token(t, map[string]any{"aud": "gputally", "exp": b.time.in(time.Hour), "jti": id})
	}
	know := func(k, user string, audience string, extra map[string]authn.ExtraValue) string {
		b.kube.Know(k, reviews.Token{User: user, Audiences: []string{audience}, Extra: extra})
		return k
	}
	node := map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {"n1"}}
	for name, x := range map[string]struct {
		token string
		known bool
		says  []string
	}{
		"an opaque token":             {"0123456789abcdef", false, []string{"no ServiceAccount token", "audience: gputally"}},
		"one that looks like a token": {"a.b.c", false, []string{"no ServiceAccount token"}},
		"for the API server": {know(token(t, map[string]any{"aud": []string{reviews.Default}}), agentUser, reviews.Default, node), false,
			[]string{reviews.Default, `not "gputally"`}},
		// It says that it is for us; the API server knows better.
		"a lie about the audience": {know(forUs("lie"), agentUser, reviews.Default, node), false, []string{"knows nobody"}},
		"a stranger's":             {forUs("unknown"), false, []string{"knows nobody", "kubectl create token"}},
		"one that ended":           {token(t, map[string]any{"aud": "gputally", "exp": b.time.in(-time.Minute)}), false, []string{"ended at 2026-12-02T07:59:00Z"}},
		"a tenant's":               {know(forUs("tenant"), "system:serviceaccount:ml:default", "gputally", node), true, []string{"system:serviceaccount:ml:default", "--agent-service-account"}},
		"of the same name elsewhere": {know(forUs("else"), "system:serviceaccount:ml:gputally-agent", "gputally", node), true,
			[]string{"system:serviceaccount:ml:gputally-agent"}},
		"without a node":     {know(forUs("none"), agentUser, "gputally", nil), true, []string{"names no node", "1.30", "--bound-object-kind Pod"}},
		"with an empty node": {know(forUs("empty"), agentUser, "gputally", map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {""}}), true, []string{"names no node"}},
		"with two nodes":     {know(forUs("two"), agentUser, "gputally", map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {"n1", "n2"}}), true, []string{"names no node"}},
		"a huge one":         {strings.Repeat("x", 20_000), false, []string{"20000 bytes"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Agent(t.Context(), x.token)
			denied(t, err, x.known, x.says...)
			if strings.Contains(fmt.Sprint(err), x.token) {
				t.Errorf("the refusal repeats the token: %v", err)
			}
		})
	}
	if strings.Contains(b.log(), forUs("unknown")) {
		t.Error("the log has a token")
	}
}

// TestServerWithoutAudiences: an API server that leaves audiences out of account
// answers for its own; that lets no agent in.
func TestServerWithoutAudiences(t *testing.T) {
	b := newBench(t)
	k := b.agent(t, "n1", time.Hour)
	b.kube.Deaf()
	_, err := b.Agent(t.Context(), k)
	denied(t, err, false, "knows nobody")
}

// TestAnswersAreKept for 30 seconds, never beyond the end of the token, refusals
// for 5.
func TestAnswersAreKept(t *testing.T) {
	b := newBench(t)
	try := func(k string, want bool, asked int) {
		t.Helper()
		_, err := b.Agent(t.Context(), k)
		if (err == nil) != want || b.kube.Asked("tokenreviews") != asked {
			t.Errorf("%v after %d reviews; want let in %v after %d", err, b.kube.Asked("tokenreviews"), want, asked)
		}
	}
	long, short := b.agent(t, "n1", time.Hour), b.agent(t, "n2", 10*time.Second)
	try(long, true, 1)
	try(short, true, 2)
	b.kube.Know(long, reviews.Token{}) // its pod is gone
	b.kube.Know(short, reviews.Token{})
	b.time.move(9 * time.Second)
	try(long, true, 2)
	try(short, true, 2)
	b.time.move(time.Second)
	try(long, true, 2)
	try(short, false, 3) // it ended, and so did the answer
	b.time.move(20 * time.Second)
	try(long, false, 4)
	b.time.move(4 * time.Second)
	try(long, false, 4)
	b.agent(t, "n1", time.Hour) // another token: it has another end
	b.kube.Know(long, reviews.Token{User: agentUser, Audiences: []string{"gputally"}, Extra: map[string]authn.ExtraValue{"authentication.kubernetes.io/node-name": {"n1"}}})
	b.time.move(time.Second)
	try(long, true, 5)
}

// TestOutage: without the API server nobody new is let in and nobody is told to be
// wrong; who was let in stays in while the answer holds. The log is told once.
func TestOutage(t *testing.T) {
	b := newBench(t)
	old, fresh := b.agent(t, "n1", time.Hour), b.agent(t, "n2", time.Hour)
	if _, err := b.Agent(t.Context(), old); err != nil {
		t.Fatal(err)
	}
	b.kube.Down()
	if _, err := b.Agent(t.Context(), old); err != nil {
		t.Errorf("an answer that is kept: %v", err)
	}
	var busy *journal.Busy
	for range 3 {
		if _, err := b.Agent(t.Context(), fresh); !errors.As(err, &busy) || busy.After <= 0 || !strings.Contains(busy.Why, "Kubernetes API server") {
			t.Errorf("a new token: %v", err)
		}
	}
	b.time.move(31 * time.Second)
	if _, err := b.Agent(t.Context(), old); !errors.As(err, &busy) {
		t.Errorf("after the answer's end: %v", err)
	}
	if n := strings.Count(b.log(), "level=ERROR"); n != 1 {
		t.Errorf("%d errors in the log, want 1:\n%s", n, b.log())
	}
}

// TestServerWithoutRights: the server may not make reviews; that is its own
// trouble, not the client's, and the log says what to grant, until it was granted.
func TestServerWithoutRights(t *testing.T) {
	b := newBench(t)
	k := b.agent(t, "n1", time.Hour)
	b.kube.Refuse(true)
	var busy *journal.Busy
	if err := b.Check(t.Context()); !errors.As(err, &busy) {
		t.Errorf("the check at the start: %v", err)
	}
	if _, err := b.Agent(t.Context(), k); !errors.As(err, &busy) || !strings.Contains(busy.Why, "may not create tokenreviews") {
		t.Errorf("%v", err)
	}
	if n := strings.Count(b.log(), "system:auth-delegator"); n != 1 {
		t.Errorf("the log names the role %d times, want once:\n%s", n, b.log())
	}
	b.kube.Refuse(false)
	if _, err := b.Agent(t.Context(), k); err != nil || !strings.Contains(b.log(), "again") {
		t.Errorf("%v\n%s", err, b.log())
	}
	if err := b.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestOneReviewAtATime: many who give the same token at once cause one review, and
// one who gives up spoils it for nobody.
func TestOneReviewAtATime(t *testing.T) {
	b := newBench(t)
	k := b.agent(t, "n1", time.Hour)
	release := b.kube.Hold()
	gone, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() { _, err := b.Agent(gone, k); left <- err }()
	for b.kube.Asked("tokenreviews") == 0 {
		time.Sleep(time.Millisecond)
	}
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for range 50 {
		wg.Go(func() { _, err := b.Agent(t.Context(), k); errs <- err })
	}
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("who gave up: %v", err)
	}
	close(release)
	wg.Wait()
	for range 50 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if n := b.kube.Asked("tokenreviews"); n != 1 {
		t.Errorf("%d reviews, want 1", n)
	}
}

// TestPeople: who has a token of the API server or of ours may do what rules say.
func TestPeople(t *testing.T) {
	b := newBench(t)
	b.kube.Know("opaque-token-of-ada", reviews.Token{User: "ada", Groups: []string{"finance"}})
	b.kube.Allow("ada", "get", "/gputally/api/v1/report")
	mine := token(t, map[string]any{"aud": []string{"gputally"}, "jti": "prometheus"})
	b.kube.Know(mine, reviews.Token{User: "system:serviceaccount:monitoring:prometheus", Audiences: []string{"gputally"}})
	b.kube.Allow("system:serviceaccount:monitoring:prometheus", "get", "/metrics")
	vault := token(t, map[string]any{"aud": []string{"vault"}})
	b.kube.Know(vault, reviews.Token{User: "ada", Audiences: []string{"vault"}})

	may := func(token, verb, path, grant string) error {
		_, err := b.May(t.Context(), token, verb, path, grant)
		return err
	}
	for range 2 { // the second time from memory
		if err := may("opaque-token-of-ada", "get", "/gputally/api/v1/report", "/gputally/api/v1/*"); err != nil {
			t.Error(err)
		}
		if err := may(mine, "get", "/metrics", "/metrics"); err != nil {
			t.Error(err)
		}
		denied(t, may("opaque-token-of-ada", "post", "/gputally/api/v1/months/2026-11/close", "/gputally/api/v1/*"), true,
			"ada may not post /gputally/api/v1/months/2026-11/close", `{nonResourceURLs: ["/gputally/api/v1/*"], verbs: ["post"]}`)
		denied(t, may(mine, "get", "/gputally/api/v1/report", "/gputally/api/v1/*"), true, "prometheus may not get")
		denied(t, may(vault, "get", "/gputally/api/v1/report", "/gputally/api/v1/*"), false, "knows nobody")
		denied(t, may("stranger", "get", "/metrics", "/metrics"), false, "knows nobody")
	}
	if who, what := b.kube.Asked("tokenreviews"), b.kube.Asked("subjectaccessreviews"); who != 4 || what != 4 {
		t.Errorf("%d reviews of tokens and %d of rights, want 4 and 4", who, what)
	}
	b.kube.Allow("ada", "post", "/gputally/api/v1/months/2026-11/close")
	b.time.move(6 * time.Second)
	if err := may("opaque-token-of-ada", "post", "/gputally/api/v1/months/2026-11/close", "/gputally/api/v1/*"); err != nil {
		t.Errorf("6 s after it was granted: %v", err)
	}
}

func TestAccounts(t *testing.T) {
	if a, err := kubeauth.ParseAccount("gputally/gputally-agent"); err != nil || a != (kubeauth.Account{Namespace: "gputally", Name: "gputally-agent"}) {
		t.Errorf("%+v %v", a, err)
	}
	for _, text := range []string{"", "agent", "/agent", "gputally/", "a/b/c", "a:b/c", "a/b:c"} {
		if _, err := kubeauth.ParseAccount(text); err == nil || !strings.Contains(err.Error(), "NAMESPACE/NAME") {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := kubeauth.New(kubeauth.Options{}); err == nil || !strings.Contains(err.Error(), "audience") {
		t.Errorf("no audience: %v", err)
	}
}
