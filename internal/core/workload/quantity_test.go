// SPDX-License-Identifier: Apache-2.0

package workload

import "testing"

func TestParseQuantity(t *testing.T) {
	for text, want := range map[string]uint64{
		"0": 0, "50": 50, "8Gi": 8 << 30, "81251Mi": 81251 << 20, "1.5Gi": 3 << 29, "2k": 2000,
		"1G": 1e9, "4Pi": 4 << 50, "0.5": 0, "16777216": 1 << 24, ".5Ki": 512, "18446744073709551615": 1<<64 - 1,
	} {
		if got, err := parseQuantity(text); err != nil || got != want {
			t.Errorf("parseQuantity(%q) = %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "Gi", ".", "-1", "+1", "1e3", "1 Gi", "0x10", "1Ei", "500m", "18446744073709551616",
		"16384Pi", "1.1.1", "0.1234567890123456789"} {
		if got, err := parseQuantity(text); err == nil {
			t.Errorf("parseQuantity(%q) = %d, want an error", text, got)
		}
	}
}

func FuzzParseQuantity(f *testing.F) {
	for _, s := range []string{"8Gi", "1.5Ki", "50", "18446744073709551615", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := parseQuantity(text)
		if err != nil {
			return
		}
		// A digit more before the number can only make it larger or too large.
		if more, err := parseQuantity("1" + text); err == nil && more < n {
			t.Errorf("parseQuantity(1%s) = %d, below %d", text, more, n)
		}
	})
}
