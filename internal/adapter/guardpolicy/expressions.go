// SPDX-License-Identifier: Apache-2.0

package guardpolicy

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// variable is a named CEL expression that others use.
type variable struct{ name, expression string }

// check is a rule as a CEL predicate over a container c; true is bad.
type check struct {
	rule guard.ID
	bad  string
}

// variables are what all checks look at. Objects are taken as they come (dyn): a policy
// is for pods and for objects with a pod's template.
func variables(resources []string) []variable {
	return []variable{
		{"any", `dyn(object)`},
		{"pod", `has(variables.any.spec.jobTemplate) ? variables.any.spec.jobTemplate.spec.template :
has(variables.any.spec.template) ? variables.any.spec.template : variables.any`},
		{"notes", `has(variables.pod.metadata) && has(variables.pod.metadata.annotations) ? variables.pod.metadata.annotations : dyn({})`},
		{"mode", `has(namespaceObject.metadata.labels) && '` + ModeLabel + `' in namespaceObject.metadata.labels ?
namespaceObject.metadata.labels['` + ModeLabel + `'] : ''`},
		{"exemption", exemption()},
		{"containers", `variables.pod.spec.containers
+ (has(variables.pod.spec.initContainers) ? variables.pod.spec.initContainers : [])
+ (has(variables.pod.spec.ephemeralContainers) ? variables.pod.spec.ephemeralContainers : [])`},
		{"kai", kai()},
		{"asking", asking(resources)},
		{"runtime", `has(variables.pod.spec.runtimeClassName) && variables.pod.spec.runtimeClassName.matches('^nvidia(-|$)')`},
		{"hostPaths", `has(variables.pod.spec.volumes) ? variables.pod.spec.volumes.filter(v, has(v.hostPath)) : []`},
	}
}

// exemption is the namespace's annotation. In a namespace that only warns the pod's own
// counts, too; where pods are denied it does not: who makes pods could exempt them.
func exemption() string {
	const form = `.matches('^\\s*[^:\\s][^:]*:\\s*\\S')`
	note := "'" + guard.ExemptNote + "'"
	return `string(has(namespaceObject.metadata.annotations) && ` + note + ` in namespaceObject.metadata.annotations &&
namespaceObject.metadata.annotations[` + note + `]` + form + ` ? namespaceObject.metadata.annotations[` + note + `] :
variables.mode != 'enforce' && ` + note + ` in variables.notes && variables.notes[` + note + `]` + form + ` ? variables.notes[` + note + `] : '')`
}

// kai is the container that gets the pod's share from the KAI scheduler.
func kai() string {
	return `has(variables.pod.spec.schedulerName) && !(variables.pod.spec.schedulerName in ['', 'default-scheduler']) &&
['gpu-fraction', 'gpu-memory'].exists(k, k in variables.notes && variables.notes[k].matches('^[^-].*[1-9]|^[1-9]')) ?
('gpu-fraction-container-name' in variables.notes ? variables.notes['gpu-fraction-container-name'] : variables.pod.spec.containers[0].name) : ''`
}

// asking are the names of the containers that ask for a GPU.
func asking(more []string) string {
	named := "false"
	if len(more) > 0 {
		named = "r in " + list(more)
	}
	of := func(field string) string {
		return fmt.Sprintf(`has(c.resources.%[1]s) && c.resources.%[1]s.exists(r, (%[2]s || %[3]s.exists(p, r.startsWith(p)) && !%[4]s.exists(p, r.startsWith(p))) &&
quantity(string(c.resources.%[1]s[r])).isGreaterThan(quantity('0')))`, field, named, list(guard.GPUResources()), list(guard.NotGPUs()))
	}
	return `variables.containers.filter(c, c.name == variables.kai || has(c.resources) && (
has(c.resources.claims) && size(c.resources.claims) > 0 ||
` + of("limits") + ` ||
` + of("requests") + `)).map(c, c.name)`
}

func list(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + w + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// asks is whether c asks for a GPU.
const asks = `c.name in variables.asking`

// entry looks for an entry e of c's env.
func entry(name, condition string) string {
	return fmt.Sprintf(`has(c.env) && c.env.exists(e, e.name == '%s' && %s)`, name, condition)
}

// The values of NVIDIA_VISIBLE_DEVICES, of an entry e. What refers to other variables is
// not known, as what is taken from elsewhere.
const (
	hidden = `(has(e.valueFrom) || has(e.value) && e.value.contains('$('))`
	gives  = `(has(e.value) && !e.value.split(',').exists(p, p.trim() == 'void') && e.value.split(',').exists(p, !(p.trim() in ['', 'none'])))`
)

// checks are the rules at medium severity or above, as core/guard has them for a pod.
func checks() []check {
	refuses := entry(guard.VisibleDevices, "!"+hidden+" && !"+gives)
	always, others := guard.DriverVariables()
	usesMPS := `(has(c.env) && c.env.exists(e, e.name.startsWith('CUDA_MPS_')) || ` + mounts(guard.MPSDirectories(), "true") + `)`
	return []check{
		{guard.ByVariable, `!(` + asks + `) && ` + entry(guard.VisibleDevices, "!"+hidden+" && "+gives)},
		{guard.VariableOnGrant, asks + ` && ` + entry(guard.VisibleDevices, "!"+hidden+" && "+gives)},
		{guard.VariableHidden, `!(` + asks + `) && ` + entry(guard.VisibleDevices, hidden)},
		{guard.Runtime, `variables.runtime && !(` + asks + `) && !(` + refuses + `)`},
		{guard.Privileged, privileged},
		{guard.DeviceMount, mounts(guard.DeviceDirectories(), "true") + ` || ` + privileged + ` && ` + mountsPath("'"+broad+"'", "true")},
		{guard.DriverMount, mounts(guard.CDIDirectories(), "!(has(m.readOnly) && m.readOnly)") + ` || ` +
			privileged + ` && ` + mounts(append(guard.DriverDirectories(), guard.CDIDirectories()...), "true")},
		{guard.MPSDaemon, mounts(guard.MPSDirectories(), "true") + ` || ` + foreignPipe},
		{guard.HostNamespace, `(has(variables.pod.spec.hostIPC) && variables.pod.spec.hostIPC || has(variables.pod.spec.hostPID) && variables.pod.spec.hostPID) && ` + usesMPS},
		{guard.DeviceList, `has(c.volumeMounts) && c.volumeMounts.exists(m, m.mountPath.matches('` + below("/run/nvidia-container-devices") + `'))`},
		{guard.DriverFeature, anyOf(always) + ` || !(` + asks + `) && (` + anyOf(others) + `)`},
		{guard.LegacyImage, `!(` + asks + `) && !has(c.envFrom) && ` + entry("CUDA_VERSION", "(has(e.valueFrom) || has(e.value) && e.value != '')") +
			` && !c.env.exists(e, e.name in ['` + guard.VisibleDevices + `', 'NVIDIA_REQUIRE_CUDA'])`},
		{guard.ShareControl, asks + ` && ` + entry("CUDA_DISABLE_CONTROL", "has(e.value) && e.value in ['true', '1']")},
	}
}

// foreignPipe: the pipes of an MPS daemon that is not in a volume of the pod's own.
const foreignPipe = `has(c.env) && c.env.exists(e, e.name == 'CUDA_MPS_PIPE_DIRECTORY' && (has(e.valueFrom) || has(e.value) && e.value != '' &&
!(has(c.volumeMounts) && c.volumeMounts.exists(m, !variables.hostPaths.exists(v, v.name == m.name) && (e.value + '/').startsWith(m.mountPath + '/')))))`

func anyOf(names []string) string {
	return `has(c.env) && c.env.exists(e, e.name in ` + list(names) + ` && (has(e.valueFrom) || ` + gives + `))`
}

// privileged is whether c is.
const privileged = `has(c.securityContext) && has(c.securityContext.privileged) && c.securityContext.privileged`

// broad matches / and /dev of a node, which hold all devices among others.
const broad = "^" + slash + "(dev" + slash + ")?$"

// mounts is whether c mounts one of the directories of its node, or what is below it.
func mounts(directories []string, condition string) string {
	return mountsPath("'"+anyPath(directories)+"'", condition)
}

func mountsPath(pattern, condition string) string {
	return `has(c.volumeMounts) && c.volumeMounts.exists(m, ` + condition + ` && variables.hostPaths.exists(v, v.name == m.name &&
(v.hostPath.path + '/' + (has(m.subPath) ? m.subPath : '')).matches(` + pattern + `)))`
}

// anyPath matches the paths of a node and what is below them, however many slashes and
// dots they are written with. The API server takes no "..".
func anyPath(directories []string) string {
	var out []string
	for _, d := range directories {
		end := "(/|$)"
		if d == "/dev/nvidia" {
			end = "" // every device file's name begins so
		}
		out = append(out, slashes(d)+end)
	}
	return "^(" + strings.Join(out, "|") + ")"
}

func below(directory string) string { return "^" + slashes(directory) + slash + "[^/.]" }

// slash is one, or several with dots between, as the kernel takes them.
const slash = `/+(\\./+)*`

// slashes writes a path as a regular expression; below /run it may be written /var/run.
func slashes(p string) string {
	parts := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i := range parts {
		parts[i] = strings.ReplaceAll(regexp.QuoteMeta(parts[i]), `\`, `\\`)
	}
	out := slash + strings.Join(parts, slash)
	if parts[0] == "run" {
		out = slash + "(var" + slash + ")?" + strings.Join(parts, slash)
	}
	return out
}
