// SPDX-License-Identifier: Apache-2.0

package guardpolicy

import (
	"fmt"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// mutating writes the policy that sets NVIDIA_VISIBLE_DEVICES=void in every container
// that asks for no GPU and does not set the variable itself: one that sets it to something
// else is denied, not changed behind its owner's back.
func mutating(b *strings.Builder, o Options, version string) {
	b.WriteString("---\n")
	fmt.Fprintf(b, head, version, "MutatingAdmissionPolicy", "gputally-guard-void")
	b.WriteString(`  failurePolicy: Fail
  # Another policy or webhook may add containers.
  reinvocationPolicy: IfNeeded
  matchConstraints:
    resourceRules:
` + podRules)
	writeVariables(b, append(variables(o.Resources),
		variable{"before", `oldObject != null && has(dyn(oldObject).spec.ephemeralContainers) ? dyn(oldObject).spec.ephemeralContainers.map(c, c.name) : []`},
		variable{"hidden", `variables.exemption != '' ? [] : variables.containers.filter(c, !(` + asks + `) && !(c.name in variables.before) &&
!(` + entry(guard.VisibleDevices, "true") + `)).map(c, c.name)`}))
	b.WriteString("  mutations:\n")
	// A pod's containers cannot change once it is there, and ephemeral ones come only then.
	writeMutation(b, "", "containers", "object.spec.containers")
	writeMutation(b, "has(object.spec.initContainers)", "initContainers", "object.spec.initContainers")
	writeMutation(b, "has(object.spec.ephemeralContainers)", "ephemeralContainers", "object.spec.ephemeralContainers")
	b.WriteString("---\n")
	fmt.Fprintf(b, head, version, "MutatingAdmissionPolicyBinding", "gputally-guard-void")
	fmt.Fprintf(b, "  policyName: gputally-guard-void\n  matchResources:\n    namespaceSelector:\n      matchLabels: {%s: enforce}\n", ModeLabel)
}

// writeMutation merges the variable into the containers of one list.
func writeMutation(b *strings.Builder, there, field, from string) {
	when := "has(request.subResource) && request.subResource == 'ephemeralcontainers'"
	if field != "ephemeralContainers" {
		when = "!(" + when + ")"
	}
	if there != "" {
		when += " && " + there
	}
	expression := fmt.Sprintf(`%s ? Object{spec: Object.spec{%s: %s.filter(c, c.name in variables.hidden).map(c,
Object.spec.%[2]s{name: c.name, env: [Object.spec.%[2]s.env{name: '%[4]s', value: 'void'}]})}} : Object{}`, when, field, from, guard.VisibleDevices)
	fmt.Fprintf(b, "    - patchType: ApplyConfiguration\n      applyConfiguration:\n        expression: >-\n%s", indented(expression, 10))
}
