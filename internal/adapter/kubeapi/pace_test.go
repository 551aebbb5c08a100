// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
)

// TestPace: only failures make the next request wait, longer each time; that a
// version is gone is none.
func TestPace(t *testing.T) {
	const longest = 8 * time.Second
	p := newPace(func() *wait.Backoff {
		return &wait.Backoff{Duration: time.Second, Cap: longest, Steps: 1 << 20, Factor: 2}
	}, longest)
	now := time.Unix(1_700_000_000, 0)
	down, gone := errors.New("connection refused"), apierrors.NewResourceExpired("too old")
	ask := func(list bool, after time.Duration, err error) time.Duration {
		now = now.Add(after)
		pause := p.before(list, now)
		now = now.Add(pause)
		p.after(err, now)
		return pause
	}
	is := func(what string, got, want time.Duration) {
		t.Helper()
		if got != want {
			t.Errorf("%s: waits %s, want %s", what, got, want)
		}
	}
	within := func(what string, got, most time.Duration) {
		t.Helper()
		if got < 0 || got >= most {
			t.Errorf("%s: waits %s, want less than %s", what, got, most)
		}
	}
	is("the first list", ask(true, 0, nil), 0)
	is("the first watch", ask(false, 0, nil), 0)
	is("a watch that ended with its time", ask(false, 5*time.Minute, nil), 0)
	within("a list, when a watch told that its version is gone", ask(true, time.Hour, nil), spread)
	is("its watch", ask(false, 0, nil), 0)
	is("a watch that broke", ask(false, time.Hour, down), 0)
	for _, want := range []time.Duration{1, 2, 4, 8, 8, 8} {
		is("a watch in an outage", ask(false, 0, down), want*time.Second)
	}
	is("the watch that ends the outage", ask(false, 0, gone), 8*time.Second)
	within("the list after it", ask(true, 0, nil), spread)
	is("and its watch", ask(false, 0, nil), 0)
	is("another list at once", ask(true, time.Second, nil), 8*time.Second)
	is("the time of a pause counts", ask(false, 0, down), 0)
	is("the rest of it", ask(false, 3*time.Second, nil), 5*time.Second)
	is("a failure after a long calm", ask(false, time.Hour, down), 0)
	is("waits as the first", ask(false, 0, nil), time.Second)
}
