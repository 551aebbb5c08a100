// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
)

// groupBytes is how much one delivery has, about; as agents have it.
const groupBytes = 3 << 20

// parcel is a delivery, and up to when its records are.
type parcel struct {
	batches [][]byte
	until   time.Time
}

// deliver sends the month's records the way that agents send theirs.
func (d *demo) deliver(ctx context.Context) error {
	client, err := ingest.NewClient(ingest.ClientOptions{Server: d.server.url, UserAgent: "gputally-demo"})
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	began, group, packed := time.Now(), make(chan parcel, 2), make(chan error, 1)
	go func() {
		defer close(group)
		packed <- d.pack(ctx, group)
	}()
	from, _ := d.fleet.Span()
	day := progress{out: d.out, what: "history", days: d.days}
	// As many deliveries at a time as there are agents: the server commits them
	// together.
	sent := make(chan parcel)
	work, failed := sync.WaitGroup{}, make(chan error, len(d.nodes)+1)
	for range d.nodes {
		work.Go(func() {
			for p := range group {
				if err := send(ctx, client, p.batches); err != nil {
					stop()
					failed <- fmt.Errorf("deliver history: %w", err)
					return
				}
				sent <- p
			}
		})
	}
	go func() {
		work.Wait()
		close(sent)
	}()
	batches := 0
	for p := range sent {
		batches += len(p.batches)
		day.to(int(p.until.Sub(from) / (24 * time.Hour)))
	}
	failed <- <-packed
	if err := <-failed; err != nil {
		return err
	}
	day.end(fmt.Sprintf("%d records of %d days delivered in %s", batches, d.days, time.Since(began).Round(100*time.Millisecond)))
	return nil
}

// pack makes the records of all nodes, the oldest first.
func (d *demo) pack(ctx context.Context, to chan<- parcel) error {
	var p parcel
	size := 0
	give := func() error {
		if len(p.batches) == 0 {
			return nil
		}
		select {
		case to <- p:
			p, size = parcel{}, 0
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	for b := range d.inOrder() {
		text, err := json.Marshal(b)
		if err != nil {
			return fmt.Errorf("record %s/%s/%d: %w", b.Agent, b.Boot, b.Seq, err)
		}
		p.batches, p.until = append(p.batches, text), time.UnixMilli(b.StartMS+b.DurationMS)
		if size += len(text); size >= groupBytes {
			if err := give(); err != nil {
				return err
			}
		}
	}
	return give()
}

// inOrder merges the records of the nodes by time.
func (d *demo) inOrder() iter.Seq[usage.Batch] {
	return func(yield func(usage.Batch) bool) {
		var next []func() (usage.Batch, bool)
		var heads []usage.Batch
		for _, n := range d.fleet.Nodes() {
			pull, stop := iter.Pull(d.fleet.Batches(n.Name))
			defer stop()
			if b, ok := pull(); ok {
				next, heads = append(next, pull), append(heads, b)
			}
		}
		for len(heads) > 0 {
			first := 0
			for i := range heads {
				if heads[i].StartMS < heads[first].StartMS {
					first = i
				}
			}
			if !yield(heads[first]) {
				return
			}
			b, ok := next[first]()
			if ok {
				heads[first] = b
				continue
			}
			next, heads = append(next[:first], next[first+1:]...), append(heads[:first], heads[first+1:]...)
		}
	}
}

// send delivers, and waits where the server says that it is busy. Nothing may be
// refused.
func send(ctx context.Context, c *ingest.Client, batches [][]byte) error {
	for {
		receipt, err := c.Send(ctx, batches)
		var busy *journal.Busy
		switch {
		case errors.As(err, &busy):
			select {
			case <-time.After(busy.After):
				continue
			case <-ctx.Done():
				return ctx.Err()
			}
		case err != nil:
			return err
		case len(receipt.Refused) > 0:
			return fmt.Errorf("the server refused %d batches: %+v", len(receipt.Refused), receipt.Refused[0])
		}
		return nil
	}
}

// rated waits until every hour of the month is rated. The hour that it ended in is
// not over.
func (d *demo) rated(ctx context.Context) error {
	began := time.Now()
	from, to := d.fleet.Span()
	day := progress{out: d.out, what: "rated", days: d.days}
	err := d.server.until(ctx, 10*time.Minute, func() string {
		var s v1.Status
		text, err := d.server.get(ctx, "/api/v1/status")
		if err == nil {
			err = json.Unmarshal([]byte(text), &s)
		}
		switch {
		case err != nil:
			return err.Error()
		case len(s.Troubles) > 0:
			return fmt.Sprintf("%s: %s", s.Troubles[0].What, s.Troubles[0].Detail)
		case s.Rating.OldestDue != nil && s.Rating.OldestDue.Hour.Before(to.Truncate(time.Hour)):
			day.to(int(s.Rating.OldestDue.Hour.Sub(from) / (24 * time.Hour)))
			return fmt.Sprintf("%d hours are to be rated, the oldest of %s", s.Rating.DueHours, s.Rating.OldestDue.Hour.Format(time.RFC3339))
		}
		return ""
	})
	if err == nil {
		day.end(fmt.Sprintf("%d days of 3 nodes rated in %s more", d.days, time.Since(began).Round(100*time.Millisecond)))
	}
	return err
}
