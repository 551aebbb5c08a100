// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gputally/gputally/internal/adapter/duck"
	"github.com/gputally/gputally/internal/adapter/ingest"
	"github.com/gputally/gputally/internal/adapter/spool"
	"github.com/gputally/gputally/internal/app/ship"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/usage"
	"github.com/gputally/gputally/test/storetest"
)

// agent writes batches into a spool and ships them.
type agent struct {
	t       *testing.T
	dir     string
	name    string
	spool   *spool.Spool
	shipper *ship.Shipper
	minute  uint64
	cancel  context.CancelFunc
	done    sync.WaitGroup
}

// newAgent is an agent that ships to an address. It begins with start.
func newAgent(t *testing.T, name, address string) *agent {
	t.Helper()
	a := &agent{t: t, name: name, dir: t.TempDir()}
	a.open(address)
	return a
}

// open is a new process: a new boot on the same spool.
func (a *agent) open(address string) {
	a.t.Helper()
	s, problems, err := spool.Open(filepath.Join(a.dir, "spool"), spool.Options{SegmentBytes: 256 << 10})
	if err != nil || len(problems) > 0 {
		a.t.Fatal(err, problems)
	}
	client, err := ingest.NewClient(ingest.ClientOptions{Server: "http://" + address, Timeout: 10 * time.Second})
	if err != nil {
		a.t.Fatal(err)
	}
	a.spool = s
	a.shipper, err = ship.New(ship.Config{Agent: s.Agent(), GroupBatches: 7, Poll: 10 * time.Millisecond, AskEvery: 50 * time.Millisecond,
		MinWait: 5 * time.Millisecond, MaxWait: 50 * time.Millisecond}, queue{s}, client, ingest.Aside{Dir: filepath.Join(a.dir, "refused")})
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *agent) start() {
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	a.done.Go(func() {
		if err := a.shipper.Run(ctx); err != nil {
			a.t.Error(err)
		}
	})
}

// stop ends shipping and closes the spool.
func (a *agent) stop() {
	a.t.Helper()
	a.cancel()
	a.done.Wait()
	if err := a.spool.Close(); err != nil {
		a.t.Fatal(err)
	}
}

// write closes so many windows.
func (a *agent) write(n int) {
	a.t.Helper()
	for range n {
		a.minute++
		if err := a.spool.Append(storetest.Minute(a.name, "", a.minute, 1, 2)); err != nil {
			a.t.Fatal(err)
		}
	}
}

// finishWithin is generous: where a hundred batches take seconds on an idle
// machine, each commit waits for its disk on a busy one.
const finishWithin = 10 * time.Minute

// await waits until the server has made durable all that the spools have.
func await(t *testing.T, agents ...*agent) {
	t.Helper()
	deadline := time.Now().Add(finishWithin)
	for _, a := range agents {
		for a.spool.Status().Unacked > 0 {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d records are not durable after %s; %+v", a.name, a.spool.Status().Unacked, finishWithin, a.shipper.Status())
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// all is every batch that an agent's spool ever held: it is large enough to keep
// them.
func (a *agent) all() (out []usage.Batch) {
	a.t.Helper()
	rep, err := spool.Verify(filepath.Join(a.dir, "spool"), func(e spool.Entry) error {
		out = append(out, e.Batch)
		return nil
	})
	if err != nil || !rep.OK() {
		a.t.Fatalf("%v %+v", err, rep)
	}
	return out
}

// checkJournal opens the journal that a server left and holds it against what
// the agents wrote: the same batches, each once, and the same sums.
func checkJournal(t *testing.T, dir string, agents ...*agent) {
	t.Helper()
	store, problems, err := duck.Open(context.Background(), dir, duck.Options{})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	defer store.Close() // only read
	want, hours := map[string]usage.Batch{}, uint64(0)
	var sums journal.Totals
	for _, a := range agents {
		hours = max(hours, a.minute/60)
		for _, b := range a.all() {
			want[name(b)] = b
			sums.Batches++
			for _, h := range b.Holders {
				sums.HolderByteMS.Add(h.ByteMS)
			}
			for _, p := range b.Partitions {
				sums.CapacityByteMS.Add(p.CapacityByteMS)
			}
		}
	}
	start := time.UnixMilli(storetest.Start)
	for hour := range int(hours) + 1 {
		for got, err := range store.Hour(context.Background(), start.Add(time.Duration(hour)*time.Hour), "") {
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[name(got)], got, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s is there twice, or another (-want +got):\n%s", name(got), diff)
			}
			delete(want, name(got))
		}
	}
	if len(want) > 0 {
		t.Errorf("%d of %d batches are missing", len(want), sums.Batches)
	}
	got, err := store.Totals(context.Background(), start.Add(-time.Hour), start.Add(10000*time.Hour))
	if err != nil || got.Batches != sums.Batches || got.HolderByteMS != sums.HolderByteMS || got.CapacityByteMS != sums.CapacityByteMS || !got.Balanced() {
		t.Errorf("the journal sums to %+v (%v), the agents wrote %+v", got, err, sums)
	}
	t.Logf("%d batches of %d agents, %s byte-ms held", got.Batches, len(agents), got.HolderByteMS)
}

func name(b usage.Batch) string { return fmt.Sprintf("%s/%s/%d", b.Agent, b.Boot, b.Seq) }
