// SPDX-License-Identifier: Apache-2.0

package advice

import "math"

// leastHours is a day: fewer hours are no pattern.
const leastHours = 24

// hourly is the mean of each 60 minutes, nil where less than half were read.
func hourly(s Series) Series {
	var out Series
	for at := 0; at+60 <= len(s); at += 60 {
		var sum float64
		n := 0
		for _, v := range s[at : at+60] {
			if v != nil {
				sum += *v
				n++
			}
		}
		if n < 30 {
			out = append(out, nil)
			continue
		}
		mean := sum / float64(n)
		out = append(out, &mean)
	}
	return out
}

// correlation is Pearson's, of the hours that both have. It is 0 where one never
// changes, and false where there is less than a day. The conversions keep each
// product rounded by itself: a machine that multiplies and adds in one step
// would otherwise answer differently.
func correlation(a, b Series) (float64, bool) {
	var n, sa, sb float64
	for i := range min(len(a), len(b)) {
		if a[i] != nil && b[i] != nil {
			n, sa, sb = n+1, sa+*a[i], sb+*b[i]
		}
	}
	if n < leastHours {
		return 0, false
	}
	var ab, aa, bb float64
	for i := range min(len(a), len(b)) {
		if a[i] != nil && b[i] != nil {
			da, db := *a[i]-sa/n, *b[i]-sb/n
			ab, aa, bb = ab+float64(da*db), aa+float64(da*da), bb+float64(db*db)
		}
	}
	if aa <= tiny*n || bb <= tiny*n {
		return 0, true
	}
	return ab / math.Sqrt(float64(aa*bb)), true
}

// tiny is a variance that is nothing but rounding.
const tiny = 1e-12
