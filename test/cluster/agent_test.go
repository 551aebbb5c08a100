// SPDX-License-Identifier: Apache-2.0

//go:build cluster

package cluster_test

import "testing"

// letAgentRead gives the agent's user the rights it needs at the API server, and no more.
func letAgentRead(t *testing.T) {
	t.Helper()
	apply(t, `apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: gputally-agent}
rules:
- apiGroups: [""]
  resources: [pods, nodes]
  verbs: [get, list, watch]
- apiGroups: [resource.k8s.io]
  resources: [resourceclaims, resourceslices]
  verbs: [get, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: gputally-agent}
subjects: [{kind: User, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}]
roleRef: {kind: ClusterRole, name: gputally-agent, apiGroup: rbac.authorization.k8s.io}
`)
}

// agent is gputally-agent, running as a host process of the node.
type agent struct{}

func startAgent(t *testing.T) *agent { t.Helper(); return &agent{} }
func (a *agent) start(t *testing.T)  {}
func (a *agent) stop(t *testing.T)   {}
func (a *agent) kill(t *testing.T)   {}

func (a *agent) says(t *testing.T, want truth)                          {}
func (a *agent) source(t *testing.T, name string, ok bool)              {}
func (a *agent) recorded(t *testing.T, podUID string, peakBytes uint64) {}
func (a *agent) spoolAddsUp(t *testing.T)                               {}
