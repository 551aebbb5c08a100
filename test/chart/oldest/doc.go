// SPDX-License-Identifier: Apache-2.0

// Package oldest holds what the chart renders to the fields of Kubernetes 1.30, the
// oldest that it installs on. It is a module of its own because it needs the types of
// that version; how the chart is rendered is the business of the module above.
package oldest
