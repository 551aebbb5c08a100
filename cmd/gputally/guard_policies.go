// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gputally/gputally/internal/adapter/guardpolicy"
)

func newGuardPolicies() *cobra.Command {
	var version string
	var resources []string
	c := &cobra.Command{
		Use:   "policies",
		Short: "Print the rules as admission policies",
		Long: `Policies prints a ValidatingAdmissionPolicy with the rules of guard scan, a
MutatingAdmissionPolicy that hides GPUs from containers that ask for none, and their
bindings. The API server evaluates them itself: no webhook, nothing that can be down.
They do nothing until a namespace has the label gputally.io/guard:

- warn: who makes such a pod is warned, and the audit log has it
- enforce: such a pod is refused, and other containers that ask for no GPU get
  NVIDIA_VISIBLE_DEVICES=void

How exemptions work, and what policies cannot see: docs/guard-policies.md.`,
		Example: `  gputally guard policies | kubectl apply -f -
  kubectl label namespace team-a gputally.io/guard=warn
  gputally guard policies --kubernetes 1.33 > policies.yaml    # a cluster that has no mutating policies`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return printPolicies(c, version, resources) },
	}
	c.Flags().StringVar(&version, "kubernetes", "1."+strconv.Itoa(guardpolicy.MutatingGA), "oldest `VERSION` of Kubernetes that the policies must work on")
	c.Flags().StringSliceVar(&resources, "resource", nil, "further resources that stand for a GPU, as for guard scan")
	return c
}

func printPolicies(c *cobra.Command, version string, resources []string) error {
	minor, err := minorOf(version)
	if err != nil {
		return inputError{err}
	}
	for _, r := range resources {
		if strings.ContainsAny(r, `'\`) {
			return inputError{fmt.Errorf("--resource %q is no name of a resource", r)}
		}
	}
	if err := guardpolicy.Write(c.OutOrStdout(), guardpolicy.Options{Minor: minor, Resources: resources}); err != nil {
		return err
	}
	switch guardpolicy.MutatingVersion(minor) {
	case "":
		fmt.Fprintf(c.ErrOrStderr(), "note: Kubernetes 1.%d has no mutating policies that could be relied on, so containers get no %s=void there: an image that says all still gets GPUs where NVIDIA's runtime is the default one. Set the variable in manifests (guard scan says where), or on the nodes accept-nvidia-visible-devices-envvar-when-unprivileged=false.\n", minor, "NVIDIA_VISIBLE_DEVICES")
	case "v1beta1":
		fmt.Fprintf(c.ErrOrStderr(), "note: on Kubernetes 1.%d mutating policies are beta and off: the API server needs --feature-gates=MutatingAdmissionPolicy=true and --runtime-config=admissionregistration.k8s.io/v1beta1=true, or refuses the last two objects. Leave them out with --kubernetes 1.%d.\n", minor, guardpolicy.MutatingBeta-1)
	}
	return nil
}

// minorOf reads a version such as 1.37, v1.37.2 or 1.37+.
func minorOf(version string) (int, error) {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(version, "v"), "1.")
	text, _, _ := strings.Cut(rest, ".")
	minor, err := strconv.Atoi(strings.TrimSuffix(text, "+"))
	if !ok || err != nil {
		return 0, fmt.Errorf("--kubernetes %q is no version; write 1.%d", version, guardpolicy.MutatingGA)
	}
	if minor < guardpolicy.Oldest {
		return 0, fmt.Errorf("--kubernetes %s: admission policies came with Kubernetes 1.%d; on older clusters use guard scan in CI", version, guardpolicy.Oldest)
	}
	return minor, nil
}
