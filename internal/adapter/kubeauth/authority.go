// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/gputally/gputally/internal/core/access"
)

const (
	// keepGood is how long somebody stays let in after their token was revoked, at
	// most; never beyond the token's own end.
	keepGood = 30 * time.Second
	// keepBad is how long a refusal is not asked again.
	keepBad = 5 * time.Second
	// maxToken is the size of the largest token that is asked about, in bytes.
	maxToken = 16 << 10
)

// Options make an authority.
type Options struct {
	// Config says how to reach the API server.
	Config *rest.Config
	// Audience is what tokens for this server are made for.
	Audience string
	// Agents are the ServiceAccounts whose tokens may deliver records.
	Agents []Account
	// Cluster is what records of this cluster's agents call it.
	Cluster string
	Log     *slog.Logger
	Now     func() time.Time // time.Now where nil
}

// Authority knows whom the API server knows. It is safe for concurrent use.
type Authority struct {
	Options
	asker  *asker
	people *memory[holder]
	rights *memory[struct{}]
}

// holder is who has a token; the zero value is nobody.
type holder struct {
	user authn.UserInfo
}

// New makes an authority. It does not connect.
func New(o Options) (*Authority, error) {
	if o.Audience == "" {
		return nil, errors.New("the audience of tokens is empty: name one, such as gputally")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	asker, err := newAsker(o.Config, o.Log)
	if err != nil {
		return nil, err
	}
	return &Authority{Options: o, asker: asker, people: newMemory[holder](o.Now), rights: newMemory[struct{}](o.Now)}, nil
}

// Check asks one review of each kind, about nobody, and returns why that cannot be
// done: to find at the start what else the first agent would.
func (a *Authority) Check(ctx context.Context) error {
	if _, err := a.asker.who(ctx, "gputally-asks-whether-it-may-ask", nil); err != nil {
		return err
	}
	_, err := a.asker.may(ctx, authz.SubjectAccessReviewSpec{User: "gputally:nobody", NonResourceAttributes: &authz.NonResourceAttributes{Verb: "get", Path: "/metrics"}})
	return err
}

// holder is who has a token, as Kubernetes says; a *access.Denied where that is
// nobody, a *journal.Busy where Kubernetes cannot be asked. With strict the token
// must be made for this server.
func (a *Authority) holder(ctx context.Context, token string, strict bool) (authn.UserInfo, error) {
	said := peek(token)
	if len(token) > maxToken {
		return authn.UserInfo{}, &access.Denied{Why: fmt.Sprintf("the bearer token has %d bytes: no token of Kubernetes does", len(token)), Hint: "look whether it is a token at all"}
	}
	if strict && !said.isFor(a.Audience) {
		return authn.UserInfo{}, a.misdirected(said)
	}
	var audiences []string // the API server's own
	if said.isFor(a.Audience) {
		audiences = []string{a.Audience}
	}
	k := sha256.Sum256([]byte(strings.Join(audiences, " ") + "\x00" + token))
	got, err := a.people.get(ctx, k, func(ctx context.Context) (answer[holder], error) {
		status, err := a.asker.who(ctx, token, audiences)
		if err != nil {
			return answer[holder]{}, err
		}
		return a.reviewed(status, said, audiences), nil
	})
	if err != nil {
		return authn.UserInfo{}, err
	}
	if !got.good {
		return authn.UserInfo{}, a.stranger(said)
	}
	return got.value.user, nil
}

// reviewed is what a review comes to. A token that was asked about for an audience
// counts only where the answer names that audience: an API server that knows none
// answers for its own (TokenReviewStatus.audiences in k8s.io/api).
func (a *Authority) reviewed(s authn.TokenReviewStatus, said claims, audiences []string) answer[holder] {
	good := s.Authenticated && s.User.Username != "" && s.User.Username != "system:anonymous"
	if good && len(audiences) > 0 && !(claims{audiences: s.Audiences}).isFor(audiences[0]) {
		good, s.Error = false, fmt.Sprintf("the answer is for the audiences %q", s.Audiences)
	}
	if !good {
		a.Log.Info("Kubernetes knows nobody with this token", "error", s.Error, "asked_for", audiences)
		return answer[holder]{until: a.Now().Add(keepBad)}
	}
	return answer[holder]{value: holder{s.User}, good: true, until: said.within(a.Now().Add(keepGood))}
}

// misdirected refuses a token that says itself that it is for somebody else.
func (a *Authority) misdirected(said claims) error {
	if !said.jwt {
		return &access.Denied{Why: "the bearer token is none of the server's, and no ServiceAccount token", Hint: a.projected()}
	}
	return &access.Denied{Why: fmt.Sprintf("the bearer token is for the audience %q, not %q", said.audiences, a.Audience), Hint: a.projected()}
}

func (a *Authority) projected() string {
	return fmt.Sprintf("mount a projected token: serviceAccountToken: {audience: %s}", a.Audience)
}

// stranger refuses a token that Kubernetes does not know, by what it says itself.
func (a *Authority) stranger(said claims) error {
	why := "Kubernetes knows nobody with this token"
	if said.jwt && !said.expires.IsZero() && said.expires.Before(a.Now()) {
		why = "the bearer token ended at " + said.expires.UTC().Format(time.RFC3339)
	}
	return &access.Denied{Why: why, Hint: "a token ends with its time, its pod and its ServiceAccount: read the file again, or make a new one: kubectl create token NAME --audience " + a.Audience}
}

// hashOf is the key of a question that is no secret.
func hashOf(question any) (key, error) {
	text, err := json.Marshal(question)
	if err != nil {
		return key{}, fmt.Errorf("write question: %w", err)
	}
	return sha256.Sum256(text), nil
}
