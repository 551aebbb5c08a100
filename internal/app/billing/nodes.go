// SPDX-License-Identifier: Apache-2.0

package billing

import (
	"context"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gputally/gputally/internal/core/usage"
)

// eachNode reads the records that touch [from, to), of the nodes of some names or of
// all (""), and hands those of each node to f, with what left has of it (by nodeKey):
// of several nodes side by side, as many as there are processors, and only theirs are
// in memory. f keeps nothing of the batches: their memory is used again. Nodes that left does not have are passed over. It takes off left what it
// hands out, so in the end those remain of which there are no records.
func eachNode[T any](ctx context.Context, store Usage, from, to time.Time, names []string, left map[string]T, f func(T, []usage.Batch) error) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	read := func(name string) error {
		for w, err := range store.Touching(ctx, from, to, name) {
			if err != nil {
				return err
			}
			k := nodeKey(w.Cluster, w.Node)
			of, ok := left[k]
			if !ok {
				continue
			}
			delete(left, k)
			g.Go(func() error {
				batches, err := w.Read()
				if err != nil {
					return err
				}
				err = f(of, batches)
				if w.Done != nil {
					w.Done(batches)
				}
				return err
			})
		}
		return nil
	}
	for _, name := range names {
		if err := read(name); err != nil {
			// Where f failed the walk ends, too: then that is why.
			if failed := g.Wait(); failed != nil {
				return failed
			}
			return err
		}
	}
	return g.Wait()
}
