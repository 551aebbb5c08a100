// SPDX-License-Identifier: Apache-2.0

package duck

import (
	"context"
	"os"
	"testing"

	"github.com/gputally/gputally/test/storetest"
)

func TestMain(m *testing.M) {
	storetest.Main(open)
	storetest.MainLedger(openLedger)
	os.Exit(m.Run())
}

// small are the limits of a store in tests. DuckDB's callers spin while others of
// its threads work for them: one thread takes half the CPU.
var small = Options{MemoryBytes: 512 << 20, Threads: 1}

// open is a store that has no problems but such as mend themselves.
func open(dir string) (storetest.Store, error) { return openWith(dir, small) }

func openWith(dir string, opt Options) (storetest.Store, error) {
	s, problems, err := Open(context.Background(), dir, opt)
	for _, p := range problems {
		if err == nil && p.Kind != TornBlock { // what a kill can leave
			err = p
		}
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

func TestContract(t *testing.T) { storetest.Run(t, open) }

func openLedger(dir string) (storetest.Ledger, error) { return openLedgerWith(dir, small) }

func openLedgerWith(dir string, opt Options) (storetest.Ledger, error) {
	s, err := openWith(dir, opt)
	if err != nil {
		return nil, err
	}
	return s.(*Store), nil
}

func TestLedgerContract(t *testing.T) { storetest.RunLedger(t, openLedger) }

// TestLedgerContractInParts is the same with so little in memory at a time that
// everything is read in many parts, and pods are too many to be remembered, and
// with the threads that a server has.
func TestLedgerContractInParts(t *testing.T) {
	lines, rated, kept, joined, sources := linesAtOnce, ratedAtOnce, podsKept, podsJoined, fewSources
	linesAtOnce, ratedAtOnce, podsKept, podsJoined, fewSources = 7, 2, 3, 1, 1
	defer func() {
		linesAtOnce, ratedAtOnce, podsKept, podsJoined, fewSources = lines, rated, kept, joined, sources
	}()
	storetest.RunLedgerOfOneProcess(t, func(dir string) (storetest.Ledger, error) {
		return openLedgerWith(dir, Options{MemoryBytes: 512 << 20})
	})
}

func TestStamps(t *testing.T) {
	storetest.RunStamps(t, func(dir string) (storetest.Stamped, error) {
		s, err := openWith(dir, small)
		if err != nil {
			return nil, err
		}
		return s.(*Store), nil
	})
}
