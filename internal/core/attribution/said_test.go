// SPDX-License-Identifier: Apache-2.0

package attribution

import (
	"maps"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/wording"
)

// TestUnderstand: every sentence is read back as itself, with what stands in its gaps,
// and what is none of them is not understood.
func TestUnderstand(t *testing.T) {
	for code, text := range Sentences {
		want := wording.Said{Code: code, Values: map[string]string{}}
		for rest, found := text, true; found; {
			var gap string
			if _, rest, found = strings.Cut(rest, "{"); found {
				gap, rest, _ = strings.Cut(rest, "}")
				want.Values[gap] = "ns/" + gap + " 7" // a path, with a space
			}
		}
		filled := Wording.Text(want)
		got, ok := Wording.Understand(filled)
		if !ok || got.Code != code || !maps.Equal(got.Values, want.Values) || Wording.Text(got) != filled {
			// Device ids of a claim have no slashes.
			if code != "claim_device" {
				t.Errorf("%q: %+v, %v", filled, got, ok)
			}
		}
	}
	for _, text := range []string{"", "GPU is lost", "holds GPU memory", "processes [1] hold memory here"} {
		if got, ok := Wording.Understand(text); ok {
			t.Errorf("%q is understood as %+v", text, got)
		}
	}
	if s, ok := Wording.Understand("gpu.nvidia.com/node-1/gpu-0"); !ok || s.Values["device"] != "gpu-0" {
		t.Errorf("%+v, %v", s, ok)
	}
}
