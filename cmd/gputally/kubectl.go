// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/x509"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/api/client"
	"github.com/gputally/gputally/internal/adapter/kubeforward"
	"github.com/gputally/gputally/internal/app/top"
)

// The names under which kubectl finds this program: a plugin is an executable
// kubectl-NAME on the PATH, and kubectl_complete-NAME completes its words.
const (
	pluginName    = "kubectl-gputally"
	completerName = "kubectl_complete-gputally"
	pluginDisplay = "kubectl gputally"
)

// plugin is there where this program was started by kubectl: commands then find the
// server and the agents in the user's cluster. It is set once, before commands are made.
var plugin *kubectl

// start runs the program under the name it was started with.
func start(args []string, stdout, stderr io.Writer) int {
	name := strings.TrimSuffix(filepath.Base(args[0]), ".exe")
	words := args[1:]
	if name == pluginName || name == completerName {
		plugin = &kubectl{}
	}
	if name == completerName {
		words = append([]string{cobra.ShellCompRequestCmd}, words...)
	}
	return run(words, stdout, stderr)
}

// kubectl is how commands reach gputally in a cluster.
type kubectl struct {
	kubeconfig, context, namespace, serviceAccount, audience string
}

const (
	envNamespace     = "GPUTALLY_NAMESPACE"
	defaultNamespace = "gputally"
)

func (k *kubectl) define(fs *pflag.FlagSet) {
	fs.StringVar(&k.kubeconfig, "kubeconfig", "", "`FILE` with your cluster and who you are there (KUBECONFIG; default ~/.kube/config)")
	fs.StringVar(&k.context, "context", "", "context of the kubeconfig (default: the current one)")
	fs.StringVarP(&k.namespace, "namespace", "n", "", "namespace that gputally is installed in ("+envNamespace+"; default "+defaultNamespace+")")
	fs.StringVar(&k.serviceAccount, "service-account", "", "ask with a token of this ServiceAccount of that namespace, where your kubeconfig has none")
	fs.StringVar(&k.audience, "audience", "gputally", "with --service-account: what the token is made for, as the server's --audience")
}

// adapt makes the commands those of the plugin.
func (k *kubectl) adapt(root *cobra.Command) {
	root.Use = pluginName
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: pluginDisplay}
	root.Long += `

As a plugin of kubectl it finds the server and the agents in your cluster, and asks
as you: docs/kubectl.md. With --server it asks that address, as gputally does.`
	k.define(root.PersistentFlags())
	var names []string
	for _, c := range root.Commands() {
		names = append(names, regexp.QuoteMeta(c.Name()))
		if c.Name() == "server" {
			c.Hidden = true // it runs in the cluster
		}
	}
	say := regexp.MustCompile(`(^|[^/\w-])gputally (` + strings.Join(names, "|") + `)\b`)
	rename(root, func(text string) string { return say.ReplaceAllString(text, "${1}"+pluginDisplay+" $2") })
}

func rename(c *cobra.Command, f func(string) string) {
	c.Long, c.Short, c.Example = f(c.Long), f(c.Short), f(c.Example)
	for _, below := range c.Commands() {
		rename(below, f)
	}
}

// open reads the kubeconfig.
func (k *kubectl) open() (*kubeforward.Cluster, error) {
	namespace := orEnv(k.namespace, envNamespace)
	if namespace == "" {
		namespace = defaultNamespace
	}
	c, err := kubeforward.Open(kubeforward.Options{
		Kubeconfig: k.kubeconfig, Context: k.context, Namespace: namespace,
		ServiceAccount: k.serviceAccount, Audience: k.audience, UserAgent: pluginName + "/" + versionText(),
	})
	if err != nil {
		return nil, inputError{err}
	}
	return c, nil
}

// client is the server in the cluster.
func (k *kubectl) client(a *ask) (*client.Client, error) {
	cluster, err := k.open()
	if err != nil {
		return nil, err
	}
	var roots *x509.CertPool
	if a.caFile != "" {
		if roots, err = client.Authorities(a.caFile); err != nil {
			return nil, inputError{&client.BadOption{Option: "ca-file", Err: err}}
		}
	}
	c, err := client.New(client.Options{
		Way: cluster.Transport(roots), Place: cluster.String(), TokenFile: a.tokenFile, Version: versionText(),
		Hint: "it is looked for as a pod of that namespace: -n and --context say another one, --server an address",
	})
	if err != nil {
		return nil, inputError{err}
	}
	return c, nil
}

// maxAgents bounds how many agents one picture is made of: each is a connection
// through the API server.
const maxAgents = 32

// agents are the agents of the cluster, or the one of a node.
func (k *kubectl) agents(node string) ([]top.Source, error) {
	cluster, err := k.open()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	pods, err := cluster.Agents(ctx, node)
	if err != nil {
		return nil, err
	}
	if len(pods) > maxAgents {
		return nil, inputError{fmt.Errorf("%d agents run in %s, more than fit into one picture; name a node with --node", len(pods), cluster)}
	}
	var out []top.Source
	for _, p := range pods {
		out = append(out, agentSource{name: p.Node, address: fmt.Sprintf("http://%s:%d", p.Name, p.Port), http: cluster.Client(p)})
	}
	return out, nil
}
