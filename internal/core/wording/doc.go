// SPDX-License-Identifier: Apache-2.0

// Package wording knows the sentences that the program says, so that they can be said in
// another language: each has a code and gaps for what changes. A catalogue makes a
// sentence from its code, and reads one back from its text, which is what is kept and
// sent: so records of any age are understood.
//
// It owns the form of sentences and how they are read. It does not own a sentence, nor
// another language: the packages that say them own the English, whoever shows them the
// rest.
package wording
