// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// source is the health of one thing that is read from the API server.
type source struct {
	operation string
	onSynced  func() // called when synced may have become true, if set

	mu     sync.Mutex
	filled bool      // heard once
	since  time.Time // when the present failure began
	err    error     // nil while all is well
}

func newSource(operation string) *source {
	return &source{operation: operation, since: time.Now(), err: errors.New("no answer from the API server yet")}
}

// heard notes how a request went. Errors that belong to the protocol, such as
// a version too old to watch from, are followed by another try at once and
// are no failure.
func (s *source) heard(err error) {
	if superseded(err) {
		return
	}
	s.mu.Lock()
	if err != nil && s.err == nil {
		s.since = time.Now()
	}
	s.err = err
	s.mu.Unlock()
	if s.onSynced != nil && apierrors.IsForbidden(err) {
		s.onSynced()
	}
}

// superseded: the server no longer has the version that was asked for, and says
// so; the next list is of a newer one.
func superseded(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

// fill notes that the store holds a whole answer.
func (s *source) fill() {
	s.mu.Lock()
	s.filled = true
	s.mu.Unlock()
	if s.onSynced != nil {
		s.onSynced()
	}
}

// full reports whether a whole answer was had once.
func (s *source) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled
}

// synced reports whether a whole answer was had once, or is refused: a missing
// permission for one kind must not make all others unknown.
func (s *source) synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.filled || apierrors.IsForbidden(s.err)
}

// failing is for how long the source has failed and why, "" if it does not.
func (s *source) failing(now time.Time) (time.Duration, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		return 0, ""
	}
	return now.Sub(s.since), fmt.Sprintf("%s: %v", s.operation, plain(s.err))
}

// plain drops the URL that HTTP errors begin with, which is long and changes
// with every try, and says what to do where the API server refuses.
func plain(err error) error {
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) {
		return fmt.Errorf("%w: grant the agent's service account the permissions of its ClusterRole", err)
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		return u.Err
	}
	return err
}
