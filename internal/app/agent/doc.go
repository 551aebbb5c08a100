// SPDX-License-Identifier: Apache-2.0

// Package agent owns the node agent's loop: when to read which source and for
// how long to wait, putting one sample together from what came, handing it to
// attribution and integration, the closed windows to the spool, and the
// picture of the moment to whoever shows it.
//
// It does not know how a source is read, how records are stored or how a
// picture is served: those are adapters, wired in cmd/gputally-agent.
package agent
