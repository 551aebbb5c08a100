// SPDX-License-Identifier: Apache-2.0

// Package arch holds the rules of the house as tests: which package may import
// which, that every package says what it owns, that dependencies are
// explained, that documentation names what exists. It has no code of its own.
package arch
