// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gputally/gputally/internal/core/bill"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
)

// ShelfStore is what a shelf needs of a store.
type ShelfStore interface {
	Usage
	Months
	Trail
	Bills
	Texts
}

// Shelf is the rule book of a server: what an operator wrote, which policy holds
// since when, and what imported bills say of a day.
type Shelf struct {
	store  ShelfStore
	loader Loader
	log    *slog.Logger
	now    func() time.Time
	// trouble is told of what cannot be read.
	trouble func(what, detail, hint string)

	mu       sync.Mutex
	loaded   Loaded
	failed   string
	eras     eras
	filed    []bill.Filed
	revision string
	prices   map[priceKey]*pricing.Prices
	day      time.Time
	bills    *pricing.Bills
}

// priceKey is an era and a rule of splitting.
type priceKey struct {
	era   int
	split pricing.Rule
}

// NewShelf reads what the operator wrote and puts it in force.
func NewShelf(ctx context.Context, store ShelfStore, loader Loader, log *slog.Logger, now func() time.Time) (*Shelf, error) {
	s := &Shelf{store: store, loader: loader, log: log, now: now, trouble: func(string, string, string) {}}
	if now == nil {
		s.now = time.Now
	}
	if log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	loaded, err := loader.Load()
	if err != nil {
		return nil, err
	}
	if s.eras, err = readEras(ctx, store); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s, s.put(ctx, loaded)
}

// OnTrouble says whom to tell of files that cannot be read any more.
func (s *Shelf) OnTrouble(f func(what, detail, hint string)) { s.trouble = f }

// put puts in force what was read. The caller holds the lock.
func (s *Shelf) put(ctx context.Context, l Loaded) error {
	closed, err := s.store.Closed(ctx)
	if err != nil {
		return err
	}
	now := s.now().UnixMilli()
	next, changed := s.eras.with(l.Policy, l.Split, openFrom(closed), now)
	if changed {
		if err := next.keep(ctx, s.store); err != nil {
			return err
		}
		from := "all hours"
		if e := next[len(next)-1]; e.FromMS > 0 {
			from = "hours from " + time.UnixMilli(e.FromMS).UTC().Format(time.RFC3339)
		}
		if err := s.tell(ctx, ledger.ActionPolicy, l.Policy.Name()+", split "+string(l.Split.Rule), "for "+from, ""); err != nil {
			return err
		}
	}
	if err := s.keepFiles(ctx, l); err != nil {
		return err
	}
	s.loaded, s.eras, s.prices, s.revision = l, next, nil, ""
	return nil
}

// keepFiles keeps files that were not seen before, and tells of them.
func (s *Shelf) keepFiles(ctx context.Context, l Loaded) error {
	for name, text := range l.Files {
		digest := hash(text)
		key := "file " + name + " " + digest
		have, err := s.store.Text(ctx, key)
		if err != nil {
			return err
		}
		if have != nil {
			continue
		}
		if err := s.store.KeepText(ctx, key, text); err != nil {
			return err
		}
		if err := s.tell(ctx, ledger.ActionPrice, name, fmt.Sprintf("%d bytes read", len(text)), digest); err != nil {
			return err
		}
	}
	return nil
}

func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

func (s *Shelf) tell(ctx context.Context, a ledger.Action, subject, detail, digest string) error {
	_, err := s.store.AddEvent(ctx, ledger.Event{
		AtMS: s.now().UnixMilli(), By: "gputally server", Action: a, Subject: subject, Detail: detail, Digest: digest,
	})
	return err
}

// Revision looks whether anything changed, and names the state of all rules.
func (s *Shelf) Revision(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.look(ctx); err != nil {
		return "", err
	}
	return s.revision, nil
}

// look reads files that changed and takes in bills that were filed. The caller
// holds the lock.
func (s *Shelf) look(ctx context.Context) error {
	loaded, err := s.loader.Load()
	switch {
	case err != nil:
		if s.failed != err.Error() {
			s.failed = err.Error()
			s.log.Error("prices or policy cannot be read: what was read before stays in force", "error", err)
			s.trouble("read prices and policy", err.Error(), "mend the file; what was read before stays in force")
		}
	case loaded.Revision != s.loaded.Revision:
		s.failed = ""
		if err := s.put(ctx, loaded); err != nil {
			return err
		}
		s.log.Info("prices and policy were read again", "revision", short(loaded.Revision))
	default:
		s.failed = ""
	}
	filed, err := s.store.Filed(ctx)
	if err != nil {
		return err
	}
	s.bills = nil // machines may have come since
	if s.revision == "" || !slices.EqualFunc(filed, s.filed, func(a, b bill.Filed) bool {
		return a.Source == b.Source && a.Period == b.Period && a.Hash == b.Hash
	}) {
		s.filed = filed
		s.revision = s.state()
	}
	return nil
}

// state is the revision of everything.
func (s *Shelf) state() string {
	parts := []string{s.loaded.Revision}
	for _, e := range s.eras {
		parts = append(parts, fmt.Sprintf("%d %s %s", e.FromMS, e.Policy.Name(), e.Split.Rule))
	}
	for _, f := range s.filed {
		parts = append(parts, f.Source+" "+f.Period.String()+" "+f.Hash)
	}
	return hash([]byte(strings.Join(parts, "\n")))
}

func short(revision string) string { return revision[:min(12, len(revision))] }

// Rules are those that hold in an hour.
func (s *Shelf) Rules(ctx context.Context, hour time.Time) (Rules, error) {
	return s.Under(ctx, hour, "")
}

// Under is the rules of an hour with another rule of splitting prices.
func (s *Shelf) Under(ctx context.Context, hour time.Time, split pricing.Rule) (Rules, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.revision == "" {
		if err := s.look(ctx); err != nil {
			return Rules{}, err
		}
	}
	at := s.eras.at(hour)
	prices, err := s.pricesOf(priceKey{at, split})
	if err != nil {
		return Rules{}, err
	}
	bills, err := s.billsOf(ctx, hour)
	if err != nil {
		return Rules{}, err
	}
	if bills != nil {
		prices = prices.WithBills(bills)
	}
	return Rules{Prices: prices, Revision: short(s.revision), Books: s.loaded.Books, Policy: s.eras[at].Policy}, nil
}

func (s *Shelf) pricesOf(k priceKey) (*pricing.Prices, error) {
	if p := s.prices[k]; p != nil {
		return p, nil
	}
	policy := s.eras[k.era].Split
	if k.split != "" {
		policy.Rule = k.split
	}
	p, err := pricing.New(policy, s.loaded.Books...)
	if err != nil {
		return nil, fmt.Errorf("prices: %w", err)
	}
	if s.prices == nil {
		s.prices = map[priceKey]*pricing.Prices{}
	}
	s.prices[k] = p
	return p, nil
}

// billsOf is what the bills say of the day that holds an hour; nil without any.
func (s *Shelf) billsOf(ctx context.Context, hour time.Time) (*pricing.Bills, error) {
	day := hour.UTC().Truncate(24 * time.Hour)
	if len(s.filed) == 0 {
		return nil, nil
	}
	if s.bills != nil && s.day.Equal(day) {
		return s.bills, nil
	}
	// A machine that booted in the last hour sends its first window in the next.
	machines, err := s.store.Machines(ctx, day, day.AddDate(0, 0, 1).Add(time.Hour), "")
	if err != nil {
		return nil, err
	}
	var stays []pricing.Stay
	for i := range machines {
		m := &machines[i]
		stays = append(stays, pricing.Stay{Cluster: m.Cluster, Node: m.Node, ProviderID: m.ProviderID, FromMS: m.PaidFrom(), ToMS: m.LastMS + m.IntervalMS})
	}
	bills, err := pricing.NewBills(s.store.BillHours(ctx, day, day.AddDate(0, 0, 1)), stays, s.filed)
	if err != nil {
		return nil, err
	}
	s.bills, s.day = bills, day
	return bills, nil
}
