// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	authn "k8s.io/api/authentication/v1"
	authz "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"

	"github.com/gputally/gputally/internal/core/journal"
)

const (
	// askFor is how long one review may take, with the wait for its turn.
	askFor = 10 * time.Second
	// atOnce is how many reviews are under way at a time.
	atOnce = 32
	// again is when a client shall come back that could not be reviewed.
	again = 5 * time.Second
)

// asker sends reviews to the API server.
type asker struct {
	authn, authz rest.Interface
	turns        chan struct{}
	log          *slog.Logger

	mu   sync.Mutex
	said string // of the last failure that the log was told
}

// newAsker makes the two clients. Their scheme has just the types of the reviews:
// client-go's own links every type that Kubernetes has.
func newAsker(config *rest.Config, log *slog.Logger) (*asker, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1 // turns bound it
	if config.UserAgent == "" {
		config.UserAgent = "gputally-server"
	}
	config.Timeout = askFor
	shared, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("reach the API server: %w", err)
	}
	client := func(group schema.GroupVersion, review runtime.Object) (rest.Interface, error) {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypes(group, review)
		metav1.AddToGroupVersion(scheme, group)
		c := rest.CopyConfig(config)
		c.GroupVersion, c.APIPath = &group, "/apis"
		c.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
		return rest.RESTClientForConfigAndClient(c, shared)
	}
	a := &asker{turns: make(chan struct{}, atOnce), log: log}
	if a.authn, err = client(authn.SchemeGroupVersion, &authn.TokenReview{}); err != nil {
		return nil, fmt.Errorf("make client for TokenReviews: %w", err)
	}
	if a.authz, err = client(authz.SchemeGroupVersion, &authz.SubjectAccessReview{}); err != nil {
		return nil, fmt.Errorf("make client for SubjectAccessReviews: %w", err)
	}
	return a, nil
}

// who asks who has a token. Without audiences it must be one for the API server.
func (a *asker) who(ctx context.Context, token string, audiences []string) (authn.TokenReviewStatus, error) {
	review := &authn.TokenReview{Spec: authn.TokenReviewSpec{Token: token, Audiences: audiences}}
	out := &authn.TokenReview{}
	err := a.post(ctx, a.authn, "tokenreviews", review, out)
	return out.Status, err
}

// may asks what somebody may do.
func (a *asker) may(ctx context.Context, spec authz.SubjectAccessReviewSpec) (authz.SubjectAccessReviewStatus, error) {
	out := &authz.SubjectAccessReview{}
	err := a.post(ctx, a.authz, "subjectaccessreviews", &authz.SubjectAccessReview{Spec: spec}, out)
	return out.Status, err
}

// post sends one review. An error is a *journal.Busy: the client did nothing wrong.
func (a *asker) post(ctx context.Context, to rest.Interface, resource string, review, out runtime.Object) error {
	ctx, cancel := context.WithTimeout(ctx, askFor)
	defer cancel()
	select {
	case a.turns <- struct{}{}:
		defer func() { <-a.turns }()
	case <-ctx.Done():
		return &journal.Busy{After: again, Why: fmt.Sprintf("%d tokens are being reviewed by the Kubernetes API server, and it is slow", atOnce)}
	}
	err := to.Post().Resource(resource).Body(review).MaxRetries(0).Do(ctx).Into(out)
	return a.told(resource, err)
}

// told turns a failure into what the client is told, and tells the log when it
// begins, changes and ends.
func (a *asker) told(resource string, err error) error {
	why, hint := "", ""
	switch {
	case err == nil:
	case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
		why = "this server may not create " + resource + " in Kubernetes"
		hint = "bind the ClusterRole system:auth-delegator to the server's ServiceAccount"
	case errors.Is(err, context.DeadlineExceeded):
		why, hint = "the Kubernetes API server does not answer", "it is asked again with every token"
	default:
		why, hint = "the Kubernetes API server cannot be asked who this is", "it is asked again with every token"
	}
	a.mu.Lock()
	before := a.said
	a.said = why
	a.mu.Unlock()
	switch {
	case err == nil && before != "":
		a.log.Info("tokens are reviewed by the Kubernetes API server again")
	case err != nil && before != why:
		a.log.Error("tokens cannot be reviewed; answers that are kept hold until they end", "error", err, "resource", resource, "hint", hint)
	}
	if err == nil {
		return nil
	}
	return &journal.Busy{After: again, Why: why}
}
