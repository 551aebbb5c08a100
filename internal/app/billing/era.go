// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/gputally/gputally/internal/core/allocation"
	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/pricing"
)

// era is a time under one policy. Unlike a price book, whose rows say since when
// they hold, a policy has no dates: it holds for all months that are open when it
// is put in force. What was closed under another one stays as it is, and late
// records of a closed month are divided by the policy of that month.
type era struct {
	FromMS int64             `json:"from_ms"`
	AtMS   int64             `json:"at_ms"` // when it was put in force
	Policy allocation.Policy `json:"policy"`
	Split  pricing.Policy    `json:"split"`
}

// eras are in order of time; the first is for all time before the second.
type eras []era

// erasKey is where they are kept.
const erasKey = "policies in force"

func readEras(ctx context.Context, texts Texts) (out eras, err error) {
	text, err := texts.Text(ctx, erasKey)
	if err != nil || text == nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return nil, fmt.Errorf("policies as they are kept: %w", err)
	}
	return out, nil
}

func (es eras) keep(ctx context.Context, texts Texts) error {
	text, err := json.Marshal(es)
	if err != nil {
		return fmt.Errorf("keep policies: %w", err)
	}
	return texts.KeepText(ctx, erasKey, text)
}

// at is the place of the era that an hour is in.
func (es eras) at(hour time.Time) int {
	for i := len(es) - 1; i > 0; i-- {
		if es[i].FromMS <= hour.UnixMilli() {
			return i
		}
	}
	return 0
}

// with is the eras once a policy is in force for all that is not closed. It says
// whether that changes anything.
func (es eras) with(p allocation.Policy, split pricing.Policy, open int64, atMS int64) (eras, bool) {
	if n := len(es); n > 0 && reflect.DeepEqual(plain(es[n-1].Policy), plain(p)) && samePolicy(&es[n-1].Split, &split) {
		return es, false
	}
	var out eras
	for _, e := range es {
		if e.FromMS < open {
			out = append(out, e)
		}
	}
	if len(out) == 0 {
		open = 0
	}
	return append(out, era{FromMS: open, AtMS: atMS, Policy: p, Split: split}), true
}

// plain is a policy as it comes back from being kept.
func plain(p allocation.Policy) allocation.Policy {
	if len(p.Distribute) == 0 {
		p.Distribute = nil
	}
	return p
}

func samePolicy(a, b *pricing.Policy) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && string(x) == string(y)
}

// openFrom is the first moment that no closed month holds.
func openFrom(closed []ledger.Closed) (ms int64) {
	for i := range closed {
		ms = max(ms, closed[i].Month.EndMS())
	}
	return ms
}
