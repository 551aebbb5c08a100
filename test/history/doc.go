// SPDX-License-Identifier: Apache-2.0

// Package history owns a month in the life of a small fleet: three nodes with 24
// GPUs in two clouds and a rack, with jobs, notebooks, services and mishaps that
// come and go by the calendar. It says what NVML, the kubelet and the API server
// would have answered at each moment. Records are made of that by the rooms
// that the agent uses: attribution and integration. Equal seeds and times give
// equal bytes.
//
// It owns no figure of a record and no assertion: what the records say is the
// rooms' answer, and tests and the demo deliver them.
package history
