// SPDX-License-Identifier: Apache-2.0

// Package imageconfig reads the environment that container images bring, from
// image archives on disk: those of docker save and ctr export, OCI archives, OCI
// layouts in a directory; plain or compressed by gzip. It owns their formats.
//
// It never reads layers, asks no registry and starts nothing. What an environment
// means is judged by internal/core/guard.
package imageconfig
