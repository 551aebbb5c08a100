// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/pricing"
)

// Rules are what hours are rated by.
type Rules struct {
	Prices *pricing.Prices
	// Revision names the state of the prices, the split rule among them.
	Revision string
	// Books are the price books in force, the strongest first.
	Books  []*pricing.Book
	Policy allocation.Policy
}

// RuleBook gives the rules of an hour. They may change from call to call; those
// of one call belong together.
type RuleBook interface {
	// Rules are those that hold in an hour of UTC. Prices have what imported
	// bills say of it.
	Rules(ctx context.Context, hour time.Time) (Rules, error)
	// Under is the rules of an hour with another rule of splitting prices; the
	// rule "" is that in force.
	Under(ctx context.Context, hour time.Time, split pricing.Rule) (Rules, error)
	// Revision names the state of all rules: another one asks for prices of
	// rated hours to be looked at again.
	Revision(ctx context.Context) (string, error)
}

// Loaded is what an operator wrote, as it was read.
type Loaded struct {
	Books  []*pricing.Book
	Split  pricing.Policy
	Policy allocation.Policy
	// Revision is of all of it: another one says that something changed.
	Revision string
	// Files are what it was read from, by name; they are kept.
	Files map[string][]byte
}

// Loader reads what an operator wrote. It is asked often and should look only
// whether anything changed. After an error what was read before stays in force.
type Loader interface {
	Load() (Loaded, error)
}
