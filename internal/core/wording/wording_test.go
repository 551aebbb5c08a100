// SPDX-License-Identifier: Apache-2.0

package wording

import (
	"maps"
	"testing"
)

var some = New(map[string]string{
	"days":  "{have} of {want} days were seen",
	"hours": "{have} of {want} hours were seen",
	"plain": "nothing was seen",
	"any":   "{what} seen",
}, map[string]string{"owner": "the owner's word: {why}"})

// TestSay: what is said is read back as itself, and a text that several sentences could
// be is the one with most that stands.
func TestSay(t *testing.T) {
	for _, x := range []struct {
		text, code string
		values     map[string]string
	}{
		{some.Say("days", 12, 14), "days", map[string]string{"have": "12", "want": "14"}},
		{some.Say("plain"), "plain", nil},
		{some.Say("any", "a cat was"), "any", map[string]string{"what": "a cat was"}},
		{some.Say("owner", "off: 3 of 4 days were seen"), "owner", map[string]string{"why": "off: 3 of 4 days were seen"}},
	} {
		got, ok := some.Understand(x.text)
		if !ok || got.Code != x.code || !maps.Equal(got.Values, x.values) || some.Text(got) != x.text {
			t.Errorf("%q is read as %+v, %v", x.text, got, ok)
		}
	}
	if got := some.Say("days", 12, 14); got != "12 of 14 days were seen" {
		t.Error(got)
	}
	if got := some.English("owner"); got != "the owner's word: {why}" {
		t.Error(got)
	}
	for _, text := range []string{"", "days were seen, 12 of 14", "nothing was seen."} {
		if got, ok := some.Understand(text); ok {
			t.Errorf("%q is read as %+v", text, got)
		}
	}
	if got := some.Text(Said{Code: "another version's"}); got != "" {
		t.Error(got)
	}
}

// TestDefects: what only a mistake in the program can ask for ends it.
func TestDefects(t *testing.T) {
	for name, f := range map[string]func(){
		"no such code":     func() { some.Say("weeks") },
		"too few values":   func() { some.Say("days", 12) },
		"too many values":  func() { some.Say("plain", 12) },
		"one code in both": func() { New(map[string]string{"a": "x"}, map[string]string{"a": "y"}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: nothing was said", name)
				}
			}()
			f()
		}()
	}
}
