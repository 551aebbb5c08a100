// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// quantityUnits are the suffixes of Kubernetes quantities of whole bytes or
// counts (k8s.io/apimachinery, resource.Quantity), longest first.
var quantityUnits = []struct {
	suffix string
	factor uint64
}{
	{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40}, {"Pi", 1 << 50},
	{"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}, {"", 1},
}

// parseQuantity reads a Kubernetes quantity that is a whole number, such as
// "8Gi", "81251Mi" or "50". A part of a unit is rounded down.
func parseQuantity(text string) (uint64, error) {
	for _, u := range quantityUnits {
		number, ok := strings.CutSuffix(text, u.suffix)
		if !ok {
			continue
		}
		n, err := scaled(number, u.factor)
		if err != nil {
			return 0, fmt.Errorf("quantity %q: %w", text, err)
		}
		return n, nil
	}
	return 0, nil // not reached: the last unit is empty
}

// scaled multiplies a plain decimal, exactly.
func scaled(number string, factor uint64) (uint64, error) {
	whole, fraction, _ := strings.Cut(number, ".")
	if len(whole)+len(fraction) == 0 || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, errors.New("want a number such as 50, 8Gi or 81251Mi")
	}
	w, err := strconv.ParseUint("0"+whole, 10, 64)
	if err != nil {
		return 0, errors.New("too large")
	}
	hi, n := bits.Mul64(w, factor)
	fraction = strings.TrimRight(fraction, "0")
	if hi != 0 || len(fraction) > 18 {
		return 0, errors.New("too large or too finely divided")
	}
	n, carry := bits.Add64(n, part(fraction, factor), 0)
	if carry != 0 {
		return 0, errors.New("too large")
	}
	return n, nil
}

// part is factor times 0.<digits>, rounded down; digits are at most 18.
func part(digits string, factor uint64) uint64 {
	if digits == "" {
		return 0
	}
	f, _ := strconv.ParseUint(digits, 10, 64)
	den := uint64(1)
	for range len(digits) {
		den *= 10
	}
	hi, lo := bits.Mul64(f, factor)
	q, _ := bits.Div64(hi, lo, den)
	return q
}
