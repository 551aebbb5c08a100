// SPDX-License-Identifier: Apache-2.0

// Package signal owns what the signals of a device say about a workload: the
// class of an hour with the rule that gave it, how its figures spread, and the
// power a device draws while nothing runs. A class is advice, never money.
//
// It does not own the signals (package sample), the sums over time (usage) or
// what is proposed because of a class (advice). Storage of hours and spreads
// comes with the server: both merge exactly, in any order.
//
// A signal that is missing makes a class coarser, never finer and never
// another: see Class.Refines.
package signal
