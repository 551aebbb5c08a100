// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
	"github.com/gputally/gputally/internal/core/rating"
)

// Rules are what hours are rated by.
type Rules struct {
	Prices rating.Pricer
	// Revision names the state of all price books, lists and the split rule.
	Revision string
	// Split is how a price of one line is split, Books what Prices is made of,
	// the strongest first.
	Split  pricing.Policy
	Books  []Priced
	Policy allocation.Policy
}

// Priced is one source of prices.
type Priced struct {
	Name     string
	Revision string
	Grade    pricing.Grade
	Rows     int
	// Alone prices by this source and no other.
	Alone rating.Pricer
	// Book is nil where it is no list: bills.
	Book *pricing.Book
}

// RuleBook gives the rules of an hour. They may change from call to call; those
// of one call belong together.
type RuleBook interface {
	// Rules are those that hold in an hour of UTC. Prices have what imported
	// bills say of it.
	Rules(ctx context.Context, hour time.Time) (Rules, error)
	// Under is the rules of an hour with another rule of splitting prices.
	Under(ctx context.Context, hour time.Time, split pricing.Rule) (Rules, error)
	// Revision names the state of all rules: another one asks for prices of
	// rated hours to be looked at again.
	Revision(ctx context.Context) (string, error)
}
