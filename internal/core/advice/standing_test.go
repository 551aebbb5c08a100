// SPDX-License-Identifier: Apache-2.0

package advice

import (
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/money"
)

// TestChanged: what ends a decision, and what does not.
func TestChanged(t *testing.T) {
	price := func(n int64) *money.Nano { return p(money.Nano(n)) }
	then := Standing{Template: "7d4b", Layout: "1 × A100", DeviceHour: price(3_000_000_000), Currency: "USD"}
	for _, c := range []struct {
		name string
		set  func(s *Standing)
		want string
	}{
		{"as it was", func(*Standing) {}, ""},
		{"another template", func(s *Standing) { s.Template = "5f7d" }, "its template is 5f7d and was 7d4b"},
		{"another layout", func(s *Standing) { s.Layout = "2 × A100" }, "it has 2 × A100 and had 1 × A100"},
		{"cheaper", func(s *Standing) { s.DeviceHour = price(2_900_000_000) }, "costs 2.90 USD an hour and cost 3.00 USD"},
		{"dearer", func(s *Standing) { s.DeviceHour = price(3_040_000_000) }, "costs 3.04 USD"},
		{"rounded", func(s *Standing) { s.DeviceHour = price(3_020_000_000) }, ""},
		{"another currency", func(s *Standing) { s.Currency = "EUR" }, "EUR"},
		{"no price any more", func(s *Standing) { s.DeviceHour = nil }, ""},
		{"nobody tells the template", func(s *Standing) { s.Template = "" }, ""},
		{"two of them", func(s *Standing) { s.Template, s.Layout = "5f7d", "1 × H100" }, "its template is 5f7d and was 7d4b; it has 1 × H100"},
	} {
		now := then
		c.set(&now)
		if got := then.Changed(&now); (len(got) == 0) != (c.want == "") || !strings.Contains(strings.Join(got, "; "), c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := then.Changed(nil); len(got) != 0 {
		t.Errorf("of a workload that is gone: %q", got)
	}
	if got := (*Standing)(nil).Changed(&then); len(got) != 0 {
		t.Errorf("of a decision before this was kept: %q", got)
	}
}
