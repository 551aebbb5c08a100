// SPDX-License-Identifier: Apache-2.0

package fleets

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// The traces are not part of this repository: their publisher allows research and
// study, and no copies here. They are read in place: from the directory that
// GPUTALLY_SHARED_DATA names, else from ../shared/data beside the checkout. A
// directory that is named and lacks them fails the tests; where none is named and
// none is found, what needs them is left out, and says so.

// trace opens a file, or leaves the test out.
func trace(t testing.TB, name string) *os.File {
	t.Helper()
	dir, named := os.LookupEnv("GPUTALLY_SHARED_DATA")
	if !named {
		dir = "../../../shared/data"
	}
	f, err := os.Open(filepath.Join(dir, "traces", name))
	if err == nil {
		t.Cleanup(func() { f.Close() })
		return f
	}
	if named {
		t.Fatalf("GPUTALLY_SHARED_DATA is %s: %v", dir, err)
	}
	message := fmt.Sprintf("LEFT OUT: %s needs %s, which is not beside this checkout. Set GPUTALLY_SHARED_DATA to the directory that has traces/%s", t.Name(), name, name)
	fmt.Fprintln(os.Stderr, message)
	t.Skip(message)
	return nil
}
