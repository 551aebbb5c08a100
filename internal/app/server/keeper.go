// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/journal"
)

// KeeperConfig says how long records stay where. Zero values take the defaults.
type KeeperConfig struct {
	// SealAfter is the age at which an hour is moved out of the tables (48 h).
	SealAfter time.Duration
	// Keep is the age at which an hour is deleted; 0 keeps all for ever.
	Keep time.Duration
	// CompactAfter is how long after its end a day of the ledger is compacted (3 h):
	// until then most of what comes late has come.
	CompactAfter time.Duration
	// Every is how often is looked (1 h).
	Every time.Duration
	Log   *slog.Logger
}

// Keeper moves old hours out of the way, and makes days of the ledger fast to read.
type Keeper struct {
	store Store
	cfg   KeeperConfig

	mu    sync.Mutex
	stats KeeperStatus
}

// KeeperStatus counts since the start.
type KeeperStatus struct {
	Sealed    uint64    `json:"sealed"`
	Dropped   uint64    `json:"dropped_batches"`
	Compacted uint64    `json:"compacted_days"`
	Errors    uint64    `json:"errors"`
	LastError string    `json:"last_error,omitempty"`
	LastRound time.Time `json:"last_round,omitzero"`
}

// NewKeeper keeps a store.
func NewKeeper(s Store, cfg KeeperConfig) *Keeper {
	if cfg.SealAfter <= 0 {
		cfg.SealAfter = 48 * time.Hour
	}
	if cfg.CompactAfter <= 0 {
		cfg.CompactAfter = 3 * time.Hour
	}
	if cfg.Every <= 0 {
		cfg.Every = time.Hour
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	return &Keeper{store: s, cfg: cfg}
}

// Status returns the counts.
func (k *Keeper) Status() KeeperStatus {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.stats
}

// Run looks again and again until ctx ends. What fails is tried again in the
// next round; only a store that is beyond use ends it with an error.
func (k *Keeper) Run(ctx context.Context) error {
	tick := time.NewTicker(k.cfg.Every)
	defer tick.Stop()
	for {
		err := k.round(ctx, time.Now())
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			k.cfg.Log.Error("old hours could not be moved, or days compacted", "error", err)
		}
		if errors.Is(err, journal.ErrBroken) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// round seals, drops and compacts what is old enough.
func (k *Keeper) round(ctx context.Context, now time.Time) error {
	errs := []error{k.sealAll(ctx, now.Add(-k.cfg.SealAfter))}
	if k.cfg.Keep > 0 {
		n, err := k.store.Drop(ctx, now.Add(-k.cfg.Keep))
		errs = append(errs, err)
		k.count(func(s *KeeperStatus) { s.Dropped += uint64(max(n, 0)) })
	}
	errs = append(errs, k.compactAll(ctx, now.Add(-k.cfg.CompactAfter)))
	err := errors.Join(errs...)
	k.count(func(s *KeeperStatus) {
		s.LastRound, s.LastError = now, ""
		if err != nil {
			s.Errors++
			s.LastError = err.Error()
		}
	})
	return err
}

func (k *Keeper) sealAll(ctx context.Context, before time.Time) error {
	hours, err := k.store.Sealable(ctx, before)
	if err != nil {
		return err
	}
	for _, hour := range hours {
		if err := k.store.Seal(ctx, hour); err != nil {
			return err
		}
		k.count(func(s *KeeperStatus) { s.Sealed++ })
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return nil
}

// compactAll compacts days. One that cannot be keeps none of the others from it.
func (k *Keeper) compactAll(ctx context.Context, before time.Time) error {
	days, err := k.store.Compactable(ctx, before)
	if err != nil {
		return err
	}
	var errs []error
	for _, day := range days {
		err := k.store.Compact(ctx, day)
		if ctx.Err() != nil || errors.Is(err, journal.ErrBroken) {
			return errors.Join(append(errs, err, ctx.Err())...)
		}
		if err == nil {
			k.count(func(s *KeeperStatus) { s.Compacted++ })
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (k *Keeper) count(f func(*KeeperStatus)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	f(&k.stats)
}
