// SPDX-License-Identifier: Apache-2.0

// Package kubeauth asks a Kubernetes API server who has a bearer token
// (TokenReview), and what they may do (SubjectAccessReview). It knows which
// ServiceAccounts are agents', and the one node that an agent's token speaks for.
//
// Answers are kept for a short time, by a hash of what was asked. It does not hand
// out tokens, does not check a signature itself, and believes nothing that a token
// says of itself: what it reads there only shortens how long an answer is kept,
// chooses which question is asked, and words a refusal. Tokens in files are
// package ingest's.
package kubeauth
