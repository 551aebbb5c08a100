// SPDX-License-Identifier: Apache-2.0

// Package policyfile reads what an operator decides about the division of cost:
// from a policy file in YAML, from the policy section of a capture, and from
// flags of the command line, which go before both.
//
// It owns the forms in which policies are written, and the places of mistakes.
// What a policy means is core's allocation; how a node's price is split is
// pricing's, and its parameters stand in the price book: here is only the name of
// the rule.
package policyfile
