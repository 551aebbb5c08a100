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

// open is a store that has no problems but such as mend themselves.
func open(dir string) (storetest.Store, error) {
	s, problems, err := Open(context.Background(), dir, Options{MemoryBytes: 512 << 20})
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

func openLedger(dir string) (storetest.Ledger, error) {
	s, err := open(dir)
	if err != nil {
		return nil, err
	}
	return s.(*Store), nil
}

func TestLedgerContract(t *testing.T) { storetest.RunLedger(t, openLedger) }

// TestLedgerContractInParts is the same with so little in memory at a time that
// everything is read in many parts.
func TestLedgerContractInParts(t *testing.T) {
	lines, rated := linesAtOnce, ratedAtOnce
	linesAtOnce, ratedAtOnce = 7, 2
	defer func() { linesAtOnce, ratedAtOnce = lines, rated }()
	storetest.RunLedger(t, openLedger)
}
