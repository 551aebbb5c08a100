// SPDX-License-Identifier: Apache-2.0

// Package access is how it is said who may do what: a denial with its reason, for
// whom a sender of records may speak, and how the trail names who did something.
//
// It checks no token and asks nobody: package kubeauth and the token files of
// package ingest do.
package access
