// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/agenthttp"
	"github.com/gputally/gputally/internal/adapter/manifest"
	"github.com/gputally/gputally/internal/core/guard"
)

// guardScan are the flags of gputally guard scan.
type guardScan struct {
	files     []string
	output    string
	failOn    string
	namespace string
	exempt    []string
	resources []string

	kubeconfig, context string
	everywhere          bool
	images, agents      []string
	seen                bool
}

func newGuardScan() *cobra.Command {
	var f guardScan
	c := &cobra.Command{
		Use:   "scan [-f FILE|DIR|-]",
		Short: "Look for such containers in a cluster, or in manifests",
		Long: `Scan names every container that could reach a GPU it did not ask for: by a
variable, a runtime class, a mount, an annotation or by being privileged. The
rules are in docs/guardrails.md.

Without -f it reads the cluster of your kubeconfig: its workloads, and the pods
that run, as admission made them. A finding names the Deployment once, not its
50 pods. What you may not read is said; it never writes and never reads Secrets.

With -f it reads manifests and needs no cluster. It knows Pod, Deployment,
StatefulSet, DaemonSet, ReplicaSet, Job, CronJob, PodTemplate,
ReplicationController and Lists of them. Other kinds that hold a pod template are
named as not looked at. Among manifests it reads what sets up GPU nodes:
config.toml of the container toolkit, of containerd and CRI-O, the device plugin's
configuration, the GPU operator's ClusterPolicy. A live cluster has the last two.

What an image has in its environment is in no manifest. With --image-archive it is
read from an archive (docker save, ctr images export, skopeo copy). With --seen the
agents say which pods can in fact open GPUs they were not given, by whatever way.

Exit codes: 0 no finding as severe as --fail-on; 1 there is one; 2 a part of the
input could not be read. The rest is scanned all the same.`,
		Example: `  gputally guard scan                                      # the cluster of your kubeconfig
  gputally guard scan -n team-a --context prod
  gputally guard scan --seen                               # and what the agents see on the nodes
  gputally guard scan -f deploy/
  helm template ./chart | gputally guard scan -f -
  kustomize build overlays/prod | gputally guard scan -f - --fail-on medium
  gputally guard scan -f deploy/ -o sarif > guard.sarif    # for code scanning
  gputally guard scan -f pod.yaml --image-archive ollama.tar -f /etc/nvidia-container-runtime/config.toml
  gputally guard scan -f deploy/ --exempt "gpu-operator/DaemonSet/dcgm-exporter=platform: reads the metrics of every GPU"`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.run(c) },
	}
	f.define(c)
	return c
}

func (f *guardScan) define(c *cobra.Command) {
	p := c.Flags()
	p.StringArrayVarP(&f.files, "filename", "f", nil, "`FILE`, directory, or - for standard input, in place of a cluster (repeatable)")
	p.StringVar(&f.kubeconfig, "kubeconfig", "", "`FILE` with the cluster and who you are there (KUBECONFIG; default ~/.kube/config)")
	p.StringVar(&f.context, "context", "", "context of the kubeconfig (default: the current one)")
	p.StringVarP(&f.namespace, "namespace", "n", "", "scan this namespace of the cluster alone; with -f: the namespace of objects that name none (default \"default\")")
	p.BoolVarP(&f.everywhere, "all-namespaces", "A", false, "scan all namespaces of the cluster (the default without -n)")
	p.StringArrayVar(&f.images, "image-archive", nil, "`[NAME=]FILE`: an image archive or OCI layout, whose environment counts for containers of that image (repeatable)")
	p.BoolVar(&f.seen, "seen", false, "ask the agents of the cluster, too, what they see on their nodes (they are in $"+envNamespace+", default "+defaultNamespace+"; needs the rights of docs/kubectl.md)")
	p.StringArrayVar(&f.agents, "agent", nil, "`HOST:PORT` of an agent to ask what it sees on its node (repeatable)")
	p.StringVarP(&f.output, "output", "o", "table", "what to print: table, json or sarif")
	p.StringVar(&f.failOn, "fail-on", "high", "exit 1 for findings of this severity or above: critical, high, medium, low, or none for never")
	p.StringArrayVar(&f.exempt, "exempt", nil, "`NAMESPACE/KIND/NAME=REASON`: report the findings of this object apart (repeatable)")
	p.StringSliceVar(&f.resources, "resource", nil, "further resources that stand for a GPU, where the device plugin renames its own")
	complete(c, "output", cobra.FixedCompletions([]string{"table", "json", "sarif"}, cobra.ShellCompDirectiveNoFileComp))
	complete(c, "fail-on", cobra.FixedCompletions([]string{"critical", "high", "medium", "low", "none"}, cobra.ShellCompDirectiveNoFileComp))
}

// check finds flags that contradict each other.
func (f *guardScan) check() error {
	err := oneOf("output", f.output, "table", "json", "sarif")
	wrong := func(text string) { err = errors.Join(err, inputError{errors.New(text)}) }
	if len(f.files) > 0 && (f.kubeconfig != "" || f.context != "" || f.everywhere) {
		wrong("-f scans files, and --kubeconfig, --context and -A say which cluster: give one or the other")
	}
	if len(f.files) > 0 && f.seen {
		wrong("-f scans files, and --seen asks the agents of a cluster: give one or the other, or name agents with --agent")
	}
	for _, a := range f.agents {
		if _, bad := agenthttp.NodeURL(a); bad != nil {
			wrong("--agent: " + bad.Error())
		}
	}
	if f.everywhere && f.namespace != "" {
		wrong("-A is all namespaces, and -n is one: give one or the other")
	}
	return err
}

// policy checks the flags. The severity is 0 for none.
func (f *guardScan) policy() (guard.Policy, guard.Severity, error) {
	p := guard.Policy{Resources: f.resources}
	err := f.check()
	for _, text := range f.exempt {
		e, wrong := guard.ParseExemption(text)
		if wrong != nil {
			err = errors.Join(err, inputError{fmt.Errorf("--exempt: %w", wrong)})
		}
		p.Exempt = append(p.Exempt, e)
	}
	if f.failOn == "none" {
		return p, 0, err
	}
	least, wrong := guard.ParseSeverity(f.failOn)
	if wrong != nil {
		err = errors.Join(err, inputError{fmt.Errorf("--fail-on: %w, or none", wrong)})
	}
	return p, least, err
}

func (f *guardScan) run(c *cobra.Command) error {
	policy, least, err := f.policy()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	var s scanned
	if len(f.files) == 0 {
		if err := s.readCluster(ctx, f, c.ErrOrStderr()); err != nil {
			return inputError{err}
		}
	} else {
		namespace := f.namespace
		if namespace == "" {
			namespace = "default"
		}
		s.read = manifest.Read(f.files, manifest.Options{Namespace: namespace, Stdin: c.InOrStdin()})
	}
	s.readImages(f.images)
	s.askAgents(ctx, f)
	s.report = guard.Scan(s.read.Input, policy)
	if err := s.print(c.OutOrStdout(), f.output); err != nil {
		return fmt.Errorf("write the findings: %w", err)
	}
	s.notes(c.ErrOrStderr())
	return s.verdict(least)
}
