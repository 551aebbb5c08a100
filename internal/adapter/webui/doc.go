// SPDX-License-Identifier: Apache-2.0

// Package webui serves the web page of the server: static files that are embedded in
// the program, under a policy that lets a browser run and load nothing else.
//
// It knows no ledger and no GPU, and asks for no token: everything on the page comes
// from the HTTP API, with the token of whoever looks. There is no build step: what is
// in static/ is what the browser gets. static/vendor/SHA256SUMS names the libraries.
package webui
