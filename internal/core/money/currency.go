// SPDX-License-Identifier: Apache-2.0

package money

import "fmt"

// Currency is the three-letter code of ISO 4217, such as USD or CNY. Amounts of
// two currencies are never added.
type Currency string

// Check returns an error unless the code has the form of ISO 4217: whether such
// a currency exists is not checked.
func (c Currency) Check() error {
	if len(c) != 3 {
		return fmt.Errorf("currency %q: write a code of ISO 4217, such as USD", string(c))
	}
	for _, r := range c {
		if r < 'A' || r > 'Z' {
			return fmt.Errorf("currency %q: write a code of ISO 4217 in capital letters, such as USD", string(c))
		}
	}
	return nil
}
