// SPDX-License-Identifier: Apache-2.0

package access

import "fmt"

// Sender is who delivers records, and whose records they may be. nil in a field
// leaves that open: the zero value may deliver for every node of every cluster.
type Sender struct {
	// Name says who it is, for messages.
	Name string
	// Cluster is the one cluster that its records may name; "" is the cluster of
	// agents that were given no name for it.
	Cluster *string
	// Node is the one node that its records may name.
	Node *string
}

// Covers says whether a record of a node may come from this sender: nil, or a
// *Denied that names what the record says and what it would have to say.
func (s Sender) Covers(cluster, node string) error {
	if s.Node != nil && *s.Node != node {
		return &Denied{Known: true, Why: fmt.Sprintf("a record is of node %q, and the token is of node %q (%s)", node, *s.Node, s.Name),
			Hint: "an agent delivers for its own node only: its --node-name must be spec.nodeName of its pod, and its spool must be of this node"}
	}
	if s.Cluster != nil && *s.Cluster != cluster {
		return &Denied{Known: true, Why: fmt.Sprintf("a record is of cluster %q, and the token is of cluster %q (%s)", cluster, *s.Cluster, s.Name),
			Hint: "--cluster of the agent and --cluster of the server, or the cluster behind the token in the server's file, must be the same"}
	}
	return nil
}
