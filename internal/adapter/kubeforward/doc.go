// SPDX-License-Identifier: Apache-2.0

// Package kubeforward reaches gputally's pods the way kubectl reaches any pod: with the
// user's kubeconfig, through the API server's port forwarding. It owns finding those pods,
// the streams to them, and getting out of a kubeconfig the token that says who the user is.
// It opens no port on the user's machine, so that nobody else there can use the way. What
// is said over it, and what it means, is not its matter.
//
// The service proxy of the API server would not do: it takes the Authorization header away
// before it passes a request on, and the server would not know who asks.
package kubeforward
