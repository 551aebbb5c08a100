// SPDX-License-Identifier: Apache-2.0

// Package focusrules checks a FOCUS dataset against the published model of
// FOCUS 1.2's requirements (model-1.2.json of the FinOps Foundation's
// validator), and against hand-written rules for what FOCUS 1.3 adds: the
// columns of split cost allocation.
//
// It owns reading that model and what each of its check functions means. It is a
// test tool: the model is not part of gputally, and rules that only a person can
// judge (its dynamic rules) are named as such, not passed.
package focusrules
