// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"
	"time"
)

// TestRoomIsBounded: where there is no room, what holds no longer goes first, then
// what ends first; and wrong tokens drive out no right one.
func TestRoomIsBounded(t *testing.T) {
	at := time.Unix(1000, 0)
	r := room[int]{max: 3, kept: map[key]answer[int]{}}
	name := func(i int) key { return sha256.Sum256([]byte(fmt.Sprint(i))) }
	put := func(i, holds int) {
		r.put(name(i), answer[int]{value: i, until: at.Add(time.Duration(holds) * time.Second)}, at)
	}
	has := func(want ...int) {
		t.Helper()
		if len(r.kept) != len(want) {
			t.Errorf("%d are kept, want %v", len(r.kept), want)
		}
		for _, i := range want {
			if _, ok := r.kept[name(i)]; !ok {
				t.Errorf("%d is gone", i)
			}
		}
	}
	put(1, 30)
	put(2, 10)
	put(3, 20)
	put(4, 0) // holds no longer
	has(1, 2, 3)
	put(5, 40)
	has(1, 3, 5)
	at = at.Add(35 * time.Second)
	put(6, 5)
	has(5, 6)

	m := newMemory[int](func() time.Time { return at })
	ask := func(i int, good bool) {
		t.Helper()
		if _, err := m.get(t.Context(), name(i), func(context.Context) (answer[int], error) {
			return answer[int]{value: i, good: good, until: at.Add(time.Minute)}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	ask(0, true)
	for i := range maxBad + 100 {
		ask(i+1, false)
	}
	if len(m.bad.kept) != maxBad || len(m.good.kept) != 1 || len(m.under) != 0 {
		t.Errorf("%d refusals, %d answers, %d under way", len(m.bad.kept), len(m.good.kept), len(m.under))
	}
}

// TestPeek: what a token says of itself, in the forms that RFC 7519 has.
func TestPeek(t *testing.T) {
	for payload, want := range map[string]struct {
		audiences int
		expires   int64
	}{
		`{"aud":"gputally","exp":1700000000}`:          {1, 1700000000},
		`{"aud":["a","gputally"],"exp":1700000000.75}`: {2, 1700000000},
		`{"aud":7}`:     {0, 0},
		`{"exp":-1}`:    {0, 0},
		`{"exp":1e300}`: {0, 0},
	} {
		c := peek("e30." + encode(payload) + ".x")
		expires := int64(0)
		if !c.expires.IsZero() {
			expires = c.expires.Unix()
		}
		if !c.jwt || len(c.audiences) != want.audiences || expires != want.expires || (want.audiences > 0) != c.isFor("gputally") {
			t.Errorf("%s: %+v", payload, c)
		}
	}
	for _, text := range []string{"", "a.b", "a.!.c", "a." + encode("[]") + ".c", "a.b.c.d"} {
		if c := peek(text); c.jwt {
			t.Errorf("%q: %+v", text, c)
		}
	}
}

func encode(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }

// FuzzPeek: whatever a token says of itself, an answer about it is never kept
// longer for that.
func FuzzPeek(f *testing.F) {
	for _, payload := range []string{`{"aud":["gputally"],"exp":1700000000}`, `{"aud":"x","exp":99999999999}`, `{"exp":"soon"}`, `[]`, `null`} {
		f.Add(payload)
	}
	until := time.Unix(1_700_000_000, 0)
	f.Fuzz(func(t *testing.T, payload string) {
		for _, token := range []string{payload, "e30." + encode(payload) + ".x"} {
			c := peek(token)
			if c.within(until).After(until) {
				t.Errorf("%q is kept until %s", payload, c.within(until))
			}
			if c.isFor("") && !c.jwt {
				t.Errorf("%q is no token and has audiences %q", payload, c.audiences)
			}
		}
	})
}
