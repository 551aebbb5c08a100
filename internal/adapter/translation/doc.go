// SPDX-License-Identifier: Apache-2.0

// Package translation says the generated references in another language, from a
// catalogue: texts by their English, each on a line of its own and its translation on
// the next. What is missing from a catalogue is an error, and so is what nothing says any
// more, so an English text that changes asks for its translation again.
//
// It owns the catalogues' form and the taking apart of Markdown into texts. The
// catalogues lie with the packages whose texts they have.
package translation
