// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// archive is a Store in memory.
type archive struct {
	mu     sync.Mutex
	hours  []time.Time
	sealed []time.Time
	before time.Time
	fail   error
	// days are to be compacted; bad is one that cannot be.
	days, compacted []time.Time
	bad             time.Time
}

func (a *archive) Compactable(_ context.Context, before time.Time) (out []time.Time, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, d := range a.days {
		if !d.AddDate(0, 0, 1).After(before) {
			out = append(out, d)
		}
	}
	return out, nil
}

func (a *archive) Compact(_ context.Context, day time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if day.Equal(a.bad) {
		return errors.New("a sum does not fit")
	}
	a.compacted = append(a.compacted, day)
	a.days = slices.DeleteFunc(a.days, day.Equal)
	return nil
}

func (a *archive) Sealable(_ context.Context, before time.Time) (out []time.Time, _ error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, h := range a.hours {
		if h.Before(before) {
			out = append(out, h)
		}
	}
	return out, nil
}

func (a *archive) Seal(_ context.Context, hour time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fail != nil {
		return a.fail
	}
	a.sealed, a.hours = append(a.sealed, hour), a.hours[1:]
	return nil
}

func (a *archive) Drop(_ context.Context, before time.Time) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.before = before
	return 7, nil
}

// TestKeeper: hours are sealed once they are old enough and dropped when they are
// older still; a failure is tried again.
func TestKeeper(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now().Truncate(time.Hour)
		a := &archive{hours: []time.Time{now.Add(-50 * time.Hour), now.Add(-47*time.Hour - 30*time.Minute), now}, fail: errors.New("disk full")}
		k := NewKeeper(a, KeeperConfig{Keep: 100 * time.Hour})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		synctest.Wait()
		if st := k.Status(); st.Errors != 1 || len(a.sealed) != 0 || !strings.Contains(st.LastError, "disk full") || st.Dropped != 7 {
			t.Errorf("%+v", st)
		}
		a.mu.Lock()
		a.fail = nil
		a.mu.Unlock()
		time.Sleep(61 * time.Minute)
		synctest.Wait()
		a.mu.Lock()
		defer a.mu.Unlock()
		if len(a.sealed) != 2 || k.Status().LastError != "" {
			t.Errorf("sealed %v, %+v", a.sealed, k.Status())
		}
		if want := time.Now().Add(-100 * time.Hour); want.Sub(a.before).Abs() > time.Hour {
			t.Errorf("dropped before %s", a.before)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestKeeperCompacts: days of the ledger are compacted some hours after their end,
// each as often as something comes to it; one that cannot be holds up no other.
func TestKeeperCompacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		today := time.Now().UTC().Truncate(24 * time.Hour)
		ago := func(days int) time.Time { return today.AddDate(0, 0, -days) }
		a := &archive{days: []time.Time{ago(3), ago(2), ago(1), today}, bad: ago(3)}
		time.Sleep(time.Until(today.Add(24*time.Hour + 30*time.Minute)))
		k := NewKeeper(a, KeeperConfig{})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.Run(ctx) }()
		synctest.Wait()
		if st := k.Status(); st.Compacted != 2 || !slices.Equal(a.compacted, []time.Time{ago(2), ago(1)}) || !strings.Contains(st.LastError, "does not fit") {
			t.Errorf("half an hour after the day: compacted %v, %+v", a.compacted, st)
		}
		a.mu.Lock()
		a.bad, a.days = time.Time{}, append(a.days, ago(2))
		a.mu.Unlock()
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		a.mu.Lock()
		if want := []time.Time{ago(2), ago(1), ago(3), ago(2), today}; !slices.Equal(a.compacted, want) || k.Status().LastError != "" {
			t.Errorf("compacted %v, want %v; %+v", a.compacted, want, k.Status())
		}
		a.mu.Unlock()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
