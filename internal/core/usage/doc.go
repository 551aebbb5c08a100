// SPDX-License-Identifier: Apache-2.0

// Package usage owns integration: attributed samples in, closed windows of
// usage records out, in whole byte-milliseconds, balanced to the byte.
//
// It does not attribute (package attribution does), store or ship (adapters
// do), or know what anything costs.
package usage
