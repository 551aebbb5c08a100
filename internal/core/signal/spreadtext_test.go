// SPDX-License-Identifier: Apache-2.0

package signal

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
)

// TestSpreadText: what is written is read again, and short.
func TestSpreadText(t *testing.T) {
	var s Spread
	s.Add(p(0.0), 12*minuteMS)
	s.Add(p(0.25), 1500)
	s.Add(nil, 60_000)
	text, err := json.Marshal(s)
	if err != nil || string(text) != `"0*12m,250*1500,u60000"` {
		t.Errorf("%s, %v", text, err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s Spread
		for range rnd.IntN(60) {
			v := rnd.Float64() * 1.3
			s.Add(&v, 1+rnd.Int64N(120_000))
		}
		if rnd.IntN(2) == 0 {
			s.Add(nil, 1+rnd.Int64N(1000))
		}
		text, _ := s.MarshalText()
		var got Spread
		if err := got.UnmarshalText(text); err != nil || !reflect.DeepEqual(got, s) {
			t.Fatalf("%s: %v, %v", text, got, err)
		}
		coarse := s.Coarse()
		for _, q := range []int64{0, 500, 950, 990, 1000} {
			a, _ := s.Quantile(q)
			b, _ := coarse.Quantile(q)
			if b < a || b > a+0.0101 {
				t.Errorf("p%d is %v, coarse %v", q, a, b)
			}
		}
		if coarse.ReadMS() != s.ReadMS() || coarse.UnreadMS != s.UnreadMS {
			t.Error("time was lost")
		}
	}
	for _, bad := range []string{"x", "1", "1*", "*5", "1*0", "1*-5", "1*5,", "99999*5", "u", "u-1", "1*5;2*5", "1*1x"} {
		if err := new(Spread).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
