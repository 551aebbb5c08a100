// SPDX-License-Identifier: Apache-2.0

// Package browser looks at the web page of a real server in a real browser: every
// page in both languages, light and dark, on the records of a small fleet. Nothing may
// be logged as an error, asked of another server or forbidden by the page's policy,
// and axe-core finds nothing that keeps people out. GPUTALLY_SCREENSHOTS names a
// folder for pictures.
//
// What figures are right is not its business: the API's tests hold those.
package browser
