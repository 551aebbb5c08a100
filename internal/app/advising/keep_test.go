// SPDX-License-Identifier: Apache-2.0

package advising

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// slowly works a minute and counts how often.
func slowly(n *int, keep bool) func(context.Context) (int, bool, error) {
	return func(ctx context.Context) (int, bool, error) {
		select {
		case <-ctx.Done():
			return 0, keep, ctx.Err()
		case <-time.After(time.Minute):
			*n++
			return *n, keep, nil
		}
	}
}

// TestWorkIsShared: those who ask at the same time wait for one work, and those who ask later
// for none.
func TestWorkIsShared(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n := newKeeper[string, int](2), 0
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				if a, err := k.ask(t.Context(), "a", slowly(&n, true)); a != 1 || err != nil {
					t.Error(a, err)
				}
			})
		}
		all.Wait()
		began := time.Now()
		if a, err := k.ask(t.Context(), "a", slowly(&n, true)); a != 1 || err != nil || time.Since(began) > 0 {
			t.Error("asked again:", a, err, time.Since(began))
		}
	})
}

// TestOneAtATime: another question waits for its turn.
func TestOneAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n, began := newKeeper[string, int](2), 0, time.Now()
		var all sync.WaitGroup
		for _, q := range []string{"a", "b"} {
			all.Go(func() { _, _ = k.ask(t.Context(), q, slowly(&n, true)) })
		}
		all.Wait()
		if took := time.Since(began); took != 2*time.Minute || n != 2 {
			t.Error(took, n)
		}
	})
}

// TestWorkForNobody: it goes on when who began it leaves, and ends with the last who waits.
func TestWorkForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n := newKeeper[string, int](2), 0
		first, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := k.ask(first, "a", slowly(&n, true)); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		})
		synctest.Wait()
		if a, err := k.ask(t.Context(), "a", slowly(&n, true)); a != 1 || err != nil {
			t.Error("the one who stayed:", a, err)
		}
		all.Wait()
		alone, leave := context.WithTimeout(t.Context(), time.Second)
		defer leave()
		if _, err := k.ask(alone, "b", slowly(&n, true)); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
		if _, there := k.have("b"); there || n != 1 {
			t.Error("what nobody waits for was worked out")
		}
	})
}

// TestLittleIsKept: what was asked for last, and nothing of what may not be kept.
func TestLittleIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, n := newKeeper[string, int](2), 0
		for _, q := range []string{"a", "b", "a", "c"} {
			if _, err := k.ask(t.Context(), q, slowly(&n, true)); err != nil {
				t.Fatal(err)
			}
		}
		for q, want := range map[string]bool{"a": true, "b": false, "c": true} {
			if _, is := k.have(q); is != want {
				t.Errorf("%s is kept: %t", q, is)
			}
		}
		for range 2 {
			_, _ = k.ask(t.Context(), "d", slowly(&n, false))
		}
		if n != 5 {
			t.Errorf("what may not be kept was kept: %d", n)
		}
	})
}
