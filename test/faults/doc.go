// SPDX-License-Identifier: Apache-2.0

// Package faults breaks things under the real agent on a staged node (package
// stage) and asks it from outside what it makes of that: /metrics, /api/v1/node,
// its log, and the records on disk. docs/faults.md lists what each test shows.
//
// What only one adapter can know is tested beside it, with more cases; here the
// question is whether the agent as a whole goes on, and says what it does not know.
package faults
