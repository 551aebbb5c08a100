// SPDX-License-Identifier: Apache-2.0

package memstore

import (
	"context"
	"iter"
	"time"

	"github.com/gputally/gputally/internal/core/usage"
)

// Findings walks the windows that began in [from, to) and have findings.
func (s *Store) Findings(_ context.Context, from, to time.Time, node string) iter.Seq2[usage.Batch, error] {
	return func(yield func(usage.Batch, error) bool) {
		s.mu.Lock()
		all := append([]usage.Batch{}, s.batches...)
		s.mu.Unlock()
		for _, b := range all {
			begins := b.StartMS >= from.UnixMilli() && b.StartMS < to.UnixMilli()
			if begins && len(b.Findings) > 0 && (node == "" || b.Node == node) && !yield(b, nil) {
				return
			}
		}
	}
}
