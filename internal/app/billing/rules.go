// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/rating"
)

// Rules are what hours are rated by.
type Rules struct {
	Prices rating.Pricer
	// Revision names the state of all price books, lists and the split rule.
	Revision string
	Policy   allocation.Policy
}

// RuleBook gives the rules of an hour. They may change from call to call; those
// of one call belong together.
type RuleBook interface {
	// Rules are those that hold in an hour of UTC. Prices have what imported
	// bills say of it.
	Rules(ctx context.Context, hour time.Time) (Rules, error)
	// Revision names the state of all rules: another one asks for prices of
	// rated hours to be looked at again.
	Revision(ctx context.Context) (string, error)
}
