// SPDX-License-Identifier: Apache-2.0

// Package termview owns the terminal: it draws lines of styled text on the
// whole screen, tells a Screen which keys are pressed and how large it is, and
// turns roles into colours, or into none.
//
// It does not know what the lines say; a Screen does.
package termview
