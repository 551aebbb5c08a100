// SPDX-License-Identifier: Apache-2.0

package usage

import (
	"testing"

	"github.com/gputally/gputally/internal/core/attribution"
)

// TestClockStepIsUnderstood: the one finding that is made here can be put into another
// language, too.
func TestClockStepIsUnderstood(t *testing.T) {
	f := clockStep(-90_000)
	if s, ok := attribution.Wording.Understand(f.Detail); !ok || s.Code != "clock" || s.Values["ms"] != "-90000" || attribution.Wording.Text(s) != f.Detail {
		t.Errorf("%q: %+v, %v", f.Detail, s, ok)
	}
}
