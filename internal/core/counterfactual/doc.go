// SPDX-License-Identifier: Apache-2.0

// Package counterfactual owns what recorded hours would have come to under a change
// that was never made: a smaller MIG instance, a grant given back, time stopped, another
// machine, a smaller pool, a card shared. It alters copies of the records and has them
// divided by the same rules as any bill.
//
// It does not own the division (allocation), prices (pricing), nor which changes are
// worth a try (advice, advisor). Nothing of it is ever booked.
//
// Every function is pure, and none alters what it is given.
package counterfactual
