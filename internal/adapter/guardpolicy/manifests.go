// SPDX-License-Identifier: Apache-2.0

package guardpolicy

import (
	"fmt"
	"io"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// ModeLabel of a namespace says what the policies do there: warn or enforce. Without it,
// and with any other value, they do nothing.
const ModeLabel = "gputally.io/guard"

// Options say for which cluster the policies are.
type Options struct {
	// Minor is the minor version of Kubernetes 1.
	Minor int
	// Resources are further resources that stand for GPUs.
	Resources []string
}

// The minor versions of Kubernetes that matter (feature gates in
// k8s.io/kubernetes/pkg/features: ValidatingAdmissionPolicy GA in 1.30,
// MutatingAdmissionPolicy beta and off in 1.34, GA in 1.36).
const (
	// Oldest is the first that has validating policies without being asked.
	Oldest = 30
	// MutatingBeta is the first with mutating policies as v1beta1, behind a feature gate.
	MutatingBeta = 34
	// MutatingGA is the first with mutating policies as v1.
	MutatingGA = 36
)

// MutatingVersion is the version of the API that serves mutating policies, or nothing
// where none does that policies could be written for.
func MutatingVersion(minor int) string {
	switch {
	case minor >= MutatingGA:
		return "v1"
	case minor >= MutatingBeta:
		return "v1beta1"
	}
	return ""
}

// Write writes the policies and their bindings as YAML.
func Write(w io.Writer, o Options) error {
	var b strings.Builder
	validating(&b, o)
	for _, x := range bindings {
		x.write(&b)
	}
	if version := MutatingVersion(o.Minor); version != "" {
		mutating(&b, o, version)
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the policies: %w", err)
	}
	return nil
}

const head = `apiVersion: admissionregistration.k8s.io/%s
kind: %s
metadata:
  name: %s
  labels: {app.kubernetes.io/part-of: gputally}
spec:
`

func validating(b *strings.Builder, o Options) {
	fmt.Fprintf(b, head, "v1", "ValidatingAdmissionPolicy", "gputally-guard")
	b.WriteString(`  failurePolicy: Fail
  matchConstraints:
    resourceRules:
` + podRules + templateRules)
	writeVariables(b, variables(o.Resources))
	for _, c := range checks() {
		writeVariable(b, variable{name(c.rule), "variables.containers.filter(c, " + c.bad + ").map(c, c.name)"})
	}
	b.WriteString("  validations:\n")
	for _, c := range checks() {
		n := "variables." + name(c.rule)
		writeValidation(b, c.rule, "variables.exemption != '' || size("+n+") == 0", "' in container ' + "+n+".join(', ')")
	}
	writeValidation(b, guard.CDIAnnotation, "variables.exemption != '' || !("+cdi+")", "''")
	b.WriteString(`  auditAnnotations:
    - key: exempt
      valueExpression: >-
        variables.exemption
`)
}

// cdi: an annotation of the pod names NVIDIA's CDI devices, or what is no such name.
const cdi = `variables.notes.exists(k, k.startsWith('cdi.k8s.io/') && variables.notes[k].split(',').exists(d, d.trim() != '' &&
(!d.matches('^[^=/]*/[^=]*=') || d.matches('^[^=/]*nvidia[^=/]*/') || d.matches('^[^=/]*/[^=]*gpu[^=]*='))))`

// name is the variable of a rule's containers: GT-G001 is g001.
func name(id guard.ID) string { return strings.ToLower(strings.TrimPrefix(string(id), "GT-")) }

func writeVariables(b *strings.Builder, all []variable) {
	b.WriteString("  variables:\n")
	for _, v := range all {
		writeVariable(b, v)
	}
}

func writeVariable(b *strings.Builder, v variable) {
	fmt.Fprintf(b, "    - name: %s\n      expression: >-\n%s", v.name, indented(v.expression, 8))
}

// writeValidation has the rule's name before its containers and its remedy after them.
func writeValidation(b *strings.Builder, id guard.ID, expression, where string) {
	r := guard.RuleOf(id)
	message := fmt.Sprintf("'gputally %s %s' + %s + ': %s'", r.ID, r.Name, where, strings.ReplaceAll(r.Fix, "'", `\'`))
	fmt.Fprintf(b, "    - expression: >-\n%s      messageExpression: >-\n%s", indented(expression, 8), indented(message, 8))
}

// indented is text as the lines of a YAML block.
func indented(text string, by int) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(strings.Repeat(" ", by) + strings.TrimRight(line, "\n") + "\n")
	}
	return b.String()
}

// Pods are looked at when they are made: what counts cannot change later, and a pod that
// was there before must be able to end.
const podRules = `      - {apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}
      - {apiGroups: [""], apiVersions: [v1], operations: [UPDATE], resources: [pods/ephemeralcontainers]}
`

const templateRules = `      - {apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments, statefulsets, daemonsets]}
      - {apiGroups: [batch], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [jobs, cronjobs]}
`

// binding puts the validating policy to work in the namespaces of a mode.
type binding struct{ name, mode, rules, actions string }

var bindings = []binding{
	{"gputally-guard-warn", "warn", podRules + templateRules, "Warn, Audit"},
	{"gputally-guard-enforce", "enforce", podRules, "Deny, Audit"},
	// Who applies a Deployment learns at once what would become of its pods.
	{"gputally-guard-enforce-early", "enforce", templateRules, "Warn"},
}

func (x binding) write(b *strings.Builder) {
	b.WriteString("---\n")
	fmt.Fprintf(b, head, "v1", "ValidatingAdmissionPolicyBinding", x.name)
	fmt.Fprintf(b, `  policyName: gputally-guard
  validationActions: [%s]
  matchResources:
    namespaceSelector:
      matchLabels: {%s: %s}
    resourceRules:
%s`, x.actions, ModeLabel, x.mode, x.rules)
}
