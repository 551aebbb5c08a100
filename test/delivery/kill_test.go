// SPDX-License-Identifier: Apache-2.0

package delivery

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/duck"
)

// kills is how often the server is killed: 20, or GPUTALLY_TEST_KILLS.
func kills(t *testing.T) int {
	text := os.Getenv("GPUTALLY_TEST_KILLS")
	if text == "" {
		return 20
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// seeded is a random generator whose seed is in the log.
func seeded(t *testing.T) *rand.Rand {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 5))
}

// fleet is a server and agents that ship to it while they write.
type fleet struct {
	*process
	agents []*agent
	stopW  context.CancelFunc
	wrote  sync.WaitGroup
}

func newFleet(t *testing.T, agents int) *fleet {
	t.Helper()
	f := &fleet{process: &process{t: t, dir: filepath.Join(t.TempDir(), "journal"), address: freeAddress(t)}}
	for i := range agents {
		a := newAgent(t, fmt.Sprintf("n%d", i), f.address)
		a.start()
		f.agents = append(f.agents, a)
	}
	return f
}

// writeAll lets all agents write until quiet.
func (f *fleet) writeAll(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	f.stopW = cancel
	for _, a := range f.agents {
		f.wrote.Go(func() {
			for ctx.Err() == nil {
				a.write(1)
				time.Sleep(every)
			}
		})
	}
}

func (f *fleet) quiet() {
	f.stopW()
	f.wrote.Wait()
}

// finish lets everything arrive, stops all and checks the books.
func (f *fleet) finish() {
	f.t.Helper()
	await(f.t, f.agents...)
	f.stop()
	for _, a := range f.agents {
		a.stop()
	}
	checkJournal(f.t, f.dir, f.agents...)
}

// TestServerKilledAtRandom: the server is killed with SIGKILL again and again
// while agents write and ship. In the end the journal has what an undisturbed
// run would have.
func TestServerKilledAtRandom(t *testing.T) {
	t.Parallel()
	rnd, f := seeded(t), newFleet(t, 3)
	f.writeAll(15 * time.Millisecond)
	for range kills(t) {
		f.start()
		time.Sleep(time.Duration(rnd.IntN(400)) * time.Millisecond)
		f.kill()
	}
	f.quiet()
	f.start()
	f.finish()
	if slices.ContainsFunc(f.problems, func(kind string) bool { return kind != duck.TornBlock }) {
		t.Errorf("a killed server left problems: %v", f.problems)
	}
}

// TestLogDamagedAfterKill: the server is killed and its log cut short or a byte
// of it flipped. What was not durable is lost with it, and agents send it again.
func TestLogDamagedAfterKill(t *testing.T) {
	t.Parallel()
	rnd, f := seeded(t), newFleet(t, 2)
	f.writeAll(5 * time.Millisecond)
	damaged := 0
	for i := 0; i < 8 || damaged < 3 && i < 40; i++ {
		f.start()
		time.Sleep(time.Duration(200+rnd.IntN(300)) * time.Millisecond)
		f.kill()
		damaged += damage(t, filepath.Join(f.dir, "journal.duckdb.wal"), rnd, i%2 == 0)
	}
	f.quiet()
	f.start()
	f.finish()
	if damaged < 3 {
		t.Errorf("%d logs were damaged: the others were empty, and this proves little", damaged)
	}
	t.Logf("%d logs damaged, problems %v; agents saw %+v", damaged, f.problems, f.agents[0].shipper.Status())
}

// damage cuts a file short or flips a bit of it, and returns how many files it
// damaged: none where it is empty.
func damage(t *testing.T, path string, rnd *rand.Rand, cut bool) int {
	t.Helper()
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || len(data) < 2 {
		return 0
	}
	if err != nil {
		t.Fatal(err)
	}
	at := rnd.IntN(len(data))
	if cut {
		data = data[:at]
	} else {
		data[at] ^= 1 << rnd.IntN(8)
	}
	if err := os.WriteFile(path, data, 0o640); err != nil {
		t.Fatal(err)
	}
	return 1
}

// TestRestoredFromAnOlderBackup: the server goes on from a backup. Agents see
// that what was durable is no longer, and send again what their spools still
// have, of earlier processes too.
func TestRestoredFromAnOlderBackup(t *testing.T) {
	t.Parallel()
	ctx, f := context.Background(), newFleet(t, 2)
	f.start()
	each := func(do func(*agent)) {
		for _, a := range f.agents {
			do(a)
		}
		await(t, f.agents...)
	}
	each(func(a *agent) { a.write(30) })
	f.stop()
	backup := filepath.Join(t.TempDir(), "backup")
	store, _, err := duck.Open(ctx, f.dir, duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Backup(ctx, backup); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	f.start()
	each(func(a *agent) { a.write(40) })
	f.agents[1].stop() // a restarted agent has to find out by its spool alone
	f.agents[1].open(f.address)
	f.agents[1].start()
	each(func(a *agent) { a.write(20) })
	f.agents[1].stop()
	f.stop()

	f.dir = filepath.Join(t.TempDir(), "restored")
	if _, err := duck.Restore(ctx, backup, f.dir); err != nil {
		t.Fatal(err)
	}
	f.start()
	f.agents[1].open(f.address)
	f.agents[1].start()
	deadline := time.Now().Add(time.Minute)
	for _, a := range f.agents {
		for a.shipper.Status().Rewinds == 0 && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
			if a == f.agents[0] && a.spool.Status().Unacked == 0 {
				a.write(1) // it learns with its next delivery
			}
		}
		if got := a.shipper.Status().Rewinds; got != 1 {
			t.Errorf("%s rewound %d times, want once; %+v", a.name, got, a.shipper.Status())
		}
	}
	each(func(a *agent) { a.write(5) })
	f.finish()
}

// TestWithoutServer: batches wait while there is no server, and all arrive once
// there is one; Flush delivers what is there at the end of a program.
func TestWithoutServer(t *testing.T) {
	t.Parallel()
	f := newFleet(t, 1)
	a := f.agents[0]
	a.write(50)
	time.Sleep(100 * time.Millisecond)
	if st := a.shipper.Status(); st.Failures == 0 || st.Sent != 0 || st.LastError == "" {
		t.Errorf("without a server: %+v", st)
	}
	f.start()
	await(t, a)
	// The spool is told first that records are durable, then they are counted.
	for deadline := time.Now().Add(finishWithin); a.shipper.Status().Durable < 50 && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	if st := a.shipper.Status(); st.Sent != 50 || st.Durable != 50 || st.LastError != "" {
		t.Errorf("with a server: %+v", st)
	}
	a.cancel()
	a.done.Wait()
	a.write(3)
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := a.shipper.Flush(ctx); err != nil {
		t.Error(err)
	}
	if err := a.spool.Close(); err != nil {
		t.Error(err)
	}
	f.stop()
	checkJournal(t, f.dir, a)
}
