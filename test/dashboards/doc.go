// SPDX-License-Identifier: Apache-2.0

// Package dashboards owns the test of what is drawn and alerted: a real Prometheus
// scrapes real agents and a real server (the demo's fleet, and a node with an XID and
// an inference engine), and every query of every dashboard is asked of it.
//
// It does not own the dashboards, which tools/dashboards makes, nor the alerts' cases,
// which test/chart has.
package dashboards
