// SPDX-License-Identifier: Apache-2.0

package gpu

import "testing"

func TestParseProfile(t *testing.T) {
	for name, want := range map[string]Profile{
		"1g.10gb":        {1, 1, 10, ""},
		"7g.80gb":        {7, 7, 80, ""},
		"1c.3g.20gb":     {1, 3, 20, ""},
		"1g.10gb+me":     {1, 1, 10, "+me"},
		"1g.10gb.me":     {1, 1, 10, "+me"},
		"1g.24gb-me":     {1, 1, 24, "-me"},
		"1g.24gb+gfx":    {1, 1, 24, "+gfx"},
		"1g.24gb.gfx":    {1, 1, 24, "+gfx"},
		"1g.24gb+me.all": {1, 1, 24, "+me.all"},
		"1g.24gb.me.all": {1, 1, 24, "+me.all"},
		"2c.7g.141gb":    {2, 7, 141, ""},
	} {
		got, err := ParseProfile(name)
		if err != nil || got != want {
			t.Errorf("ParseProfile(%q) = %+v, %v", name, got, err)
		}
	}
	if got := (Profile{1, 3, 20, "+me"}).String(); got != "1c.3g.20gb+me" {
		t.Errorf("String() = %q", got)
	}
	for _, name := range []string{"", "1g", "1g.10", "g.10gb", "1g.10gb+", "1g.10gb+1", "4c.3g.20gb", "0g.10gb", "0c.1g.10gb", "1g.0gb",
		"1G.10GB", "mig-1g.10gb", "1g.10gb ", "1c.2c.3g.20gb", "1000g.1gb"} {
		if got, err := ParseProfile(name); err == nil {
			t.Errorf("ParseProfile(%q) = %+v, want an error", name, got)
		}
	}
}

func TestMemorySlices(t *testing.T) {
	for _, c := range []struct {
		name   string
		device uint32
		want   uint32
	}{
		{"1g.5gb", 8, 1}, {"1g.20gb", 8, 2}, {"1g.18gb", 8, 1}, {"1g.35gb", 8, 2}, {"2g.20gb", 8, 2}, {"3g.40gb", 8, 4},
		{"4g.40gb", 8, 4}, {"7g.80gb", 8, 8}, {"1c.3g.40gb", 8, 4}, {"1g.6gb", 4, 1}, {"1g.24gb+me", 4, 1}, {"2g.12gb", 4, 2}, {"4g.24gb", 4, 4},
	} {
		if got, ok := profile(t, c.name).MemorySlices(c.device); !ok || got != c.want {
			t.Errorf("%s of %d: %d, %v", c.name, c.device, got, ok)
		}
	}
	for _, c := range []struct {
		name   string
		device uint32
	}{{"1g.10gb", 8}, {"1g.24gb", 8}, {"1g.99gb", 8}, {"5g.50gb", 8}, {"3g.20gb", 4}, {"1g.5gb", 0}, {"1g.5gb", 16}} {
		if got, ok := profile(t, c.name).MemorySlices(c.device); ok {
			t.Errorf("%s of %d: %d, want not known", c.name, c.device, got)
		}
	}
}

func profile(t *testing.T, name string) Profile {
	t.Helper()
	p, err := ParseProfile(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func FuzzParseProfile(f *testing.F) {
	for _, name := range []string{"1g.10gb", "1c.3g.20gb", "1g.10gb+me", "1g.24gb.me.all", "1g.24gb-me"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p, err := ParseProfile(name)
		if err != nil {
			return
		}
		if again, err := ParseProfile(p.String()); err != nil || again != p {
			t.Errorf("ParseProfile(%q) = %+v, whose name %q reads as %+v, %v", name, p, p, again, err)
		}
		for _, device := range []uint32{4, 8} {
			if n, ok := p.MemorySlices(device); ok && (n == 0 || n > device || n < p.Slices) {
				t.Errorf("%q takes %d of %d memory slices", name, n, device)
			}
		}
	})
}

func TestParseRatio(t *testing.T) {
	for text, want := range map[string]Ratio{"0.5": {1, 2}, "0.50": {1, 2}, ".25": {1, 4}, "1": {1, 1}, "1.0": {1, 1}, "0": {}, "0.": {},
		"0.333": {333, 1000}, "00.1": {1, 10}, "0.000000000000000001": {1, 1e18}} {
		if got, err := ParseRatio(text); err != nil || got != want {
			t.Errorf("ParseRatio(%q) = %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ".", "1.1", "2", "-0.5", "+0.5", "5e-1", "NaN", "1/2", "0.0000000000000000001", "99999999999999999999", "0.5.5", "half"} {
		if got, err := ParseRatio(text); err == nil {
			t.Errorf("ParseRatio(%q) = %+v, want an error", text, got)
		}
	}
}

func FuzzParseRatio(f *testing.F) {
	for _, text := range []string{"0.5", ".25", "1.000", "0.333", "2"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := ParseRatio(text)
		if err != nil || r == (Ratio{}) {
			return
		}
		if r.Num == 0 || r.Num > r.Den || gcd(r.Num, r.Den) != 1 {
			t.Errorf("ParseRatio(%q) = %+v", text, r)
		}
	})
}
