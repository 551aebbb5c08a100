// SPDX-License-Identifier: Apache-2.0

// Package api serves the ledger over HTTP: its paths, parameters, limits, errors,
// roles, and the OpenAPI document that describes them. The shapes of its answers
// are package v1's, a client of it package client's, and answers as text for
// people package reportview's.
//
// It answers nothing itself: Books does (app/billing). Deliveries of usage
// records are package ingest's.
package api
