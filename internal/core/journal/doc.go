// SPDX-License-Identifier: Apache-2.0

// Package journal owns the counting of deliveries: which batches of an agent
// have arrived, which of them are safe, and the words in which the two ends of
// shipping speak of them (marks, acknowledgements, refusals).
//
// A batch is named by (agent, boot, sequence number). Batches are delivered at
// least once, in any order, and counted once: a Mark says of every number
// whether it was counted. What a batch says is package usage's business; how it
// travels and where it is kept is the adapters'.
package journal
