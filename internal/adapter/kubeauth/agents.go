// SPDX-License-Identifier: Apache-2.0

package kubeauth

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/access"
)

// nodeName is the extra of a user that says on which node the token's pod runs.
// Tokens that are bound to a pod or a node carry it since Kubernetes 1.30, where the
// gate ServiceAccountTokenPodNodeInfo is on by default (pkg/features of
// k8s.io/kubernetes; it is NodeNameKey in k8s.io/apiserver
// pkg/authentication/serviceaccount). The API server wrote it into the token when it
// made it, from the pod's spec.nodeName, and a kubelet gets tokens for pods of its
// own node only.
const nodeName = "authentication.kubernetes.io/node-name"

// Account is a ServiceAccount.
type Account struct{ Namespace, Name string }

// ParseAccount reads NAMESPACE/NAME.
func ParseAccount(text string) (Account, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.ContainsAny(name, "/:") || strings.Contains(namespace, ":") {
		return Account{}, fmt.Errorf("%q: write NAMESPACE/NAME of a ServiceAccount, such as gputally/gputally-agent", text)
	}
	return Account{namespace, name}, nil
}

// user is the ServiceAccount's name as a user.
func (a Account) user() string { return "system:serviceaccount:" + a.Namespace + ":" + a.Name }

// Agent says for whom a token may deliver records: for one node of this cluster.
// The error is a *access.Denied, or a *journal.Busy where Kubernetes cannot be
// asked.
func (a *Authority) Agent(ctx context.Context, token string) (access.Sender, error) {
	user, err := a.holder(ctx, token, true)
	if err != nil {
		return access.Sender{}, err
	}
	if !slices.ContainsFunc(a.Agents, func(x Account) bool { return x.user() == user.Username }) {
		return access.Sender{}, &access.Denied{Known: true, Why: user.Username + " is no agent of this server",
			Hint: "name its ServiceAccount on the server: --agent-service-account NAMESPACE/NAME"}
	}
	node := user.Extra[nodeName]
	if len(node) != 1 || node[0] == "" {
		return access.Sender{}, &access.Denied{Known: true, Why: "the token of " + user.Username + " names no node, and an agent delivers for its own node only",
			Hint: "use the token that the kubelet mounts into the agent's pod (a projected one), on Kubernetes 1.30 or newer; by hand: kubectl create token --bound-object-kind Pod"}
	}
	return access.Sender{Name: user.Username, Cluster: &a.Cluster, Node: &node[0]}, nil
}
