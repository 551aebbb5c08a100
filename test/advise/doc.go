// SPDX-License-Identifier: Apache-2.0

// Package advise holds advice to what it says, from records to money: worked examples
// go through the real store, the real rating and the real recorder of activity, and
// what people say to advice and what came of it are read back. It has tests alone.
package advise
