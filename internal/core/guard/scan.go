// SPDX-License-Identifier: Apache-2.0

package guard

// Policy is what the user decides about a scan.
type Policy struct {
	// Resources are further resources that stand for GPUs, where the device
	// plugin renames its own.
	Resources []string
	Exempt    []Exemption
}

// Report is what a scan found. Its slices are sorted: most severe first, then
// as the input stands.
type Report struct {
	Findings []Finding
	Exempted []Exempted
	// Unused are exemptions of the policy whose object is not in the input.
	Unused []Exemption
	// UnseenImages are files of images that no container uses.
	UnseenImages []string
	// Workloads, Containers and Pods say how many were looked at. Pods are those
	// that are told by their workload, and no workloads themselves.
	Workloads, Containers, Pods int
	// NodeConfigs is how many files and objects that set up nodes were looked at.
	NodeConfigs int
}

// scan is one run over an input.
type scan struct {
	in     Input
	policy Policy
	used   map[int]bool         // exemptions of the policy, by index
	tops   map[Object]*Workload // those that stand for themselves
	seen   map[string]bool      // files of images that a container uses
	report Report
}

// Scan looks at every container of every workload.
func Scan(in Input, policy Policy) Report {
	s := &scan{in: in, policy: policy, used: map[int]bool{}, tops: map[Object]*Workload{}, seen: map[string]bool{}}
	for i := range in.Workloads {
		if w := &in.Workloads[i]; w.Of == nil {
			s.tops[w.Object] = w
		}
	}
	for i := range in.Workloads {
		s.workload(&in.Workloads[i])
	}
	s.seenOnNodes()
	s.nodes()
	s.report.UnseenImages = s.unseenImages()
	for i, e := range policy.Exempt {
		if !s.used[i] {
			s.report.Unused = append(s.report.Unused, e)
		}
	}
	s.report.Findings = sorted(folded(s.report.Findings))
	s.report.Exempted = foldedExempted(s.report.Exempted)
	sortExempted(s.report.Exempted)
	return s.report
}

func (s *scan) workload(w *Workload) {
	if w.Of == nil {
		s.report.Workloads++
	} else {
		s.report.Pods++
	}
	s.report.Containers += len(w.Pod.Containers)
	found := s.podFindings(w)
	for i := range w.Pod.Containers {
		v := s.look(w, &w.Pod.Containers[i])
		for _, check := range checks {
			found = append(found, check(v)...)
		}
	}
	exemption, wrong := s.exemption(w)
	if wrong != nil {
		s.report.Findings = append(s.report.Findings, w.finding(BadExemption, Low, *wrong, ExemptNote+" gives no owner or no reason"))
	}
	if exemption == nil {
		s.report.Findings = append(s.report.Findings, found...)
		return
	}
	for _, f := range found {
		s.report.Exempted = append(s.report.Exempted, Exempted{Finding: f, Exemption: *exemption})
	}
}

// finding is one about the whole pod.
func (w *Workload) finding(id ID, severity Severity, at Text, what string) Finding {
	rule := RuleOf(id)
	f := Finding{
		Rule: id, Severity: severity, Object: w.told(), Value: at.Value, What: what, Why: rule.Why, Fix: rule.Fix,
		Place: Place{File: w.File, Document: w.Document, Line: at.Line, Field: at.Field},
	}
	if w.Of != nil {
		f.Pods = &Pods{Count: 1, First: []string{w.Name}}
	}
	return f
}

// view is a container with what the checks need to know of it.
type view struct {
	w          *Workload
	c          *Container
	asks       bool
	privileged bool
	runtime    bool // NVIDIA's runtime is asked for by name
	env        *environment
	devices    setting // NVIDIA_VISIBLE_DEVICES
	mounts     []hostMount
}

func (s *scan) look(w *Workload, c *Container) *view {
	env := s.environment(w, c)
	return &view{
		w: w, c: c, asks: s.asks(w, c), privileged: c.Privileged.True(), runtime: s.nvidiaRuntime(w),
		env: env, devices: env.get(visibleDevices), mounts: hostMounts(w, c),
	}
}

// finding is one about the container.
func (v *view) finding(id ID, severity Severity, at Text, what string) []Finding {
	f := v.w.finding(id, severity, at, what)
	f.Container, f.Role = v.c.Name, v.c.Role
	return []Finding{f}
}

// givesGPUs: the variable is known to name GPUs.
func (v *view) givesGPUs() bool { return v.devices.certainty == known && gives(v.devices.value) }

// refuses: the variable is known to name none, in the spec, or in the image where
// that is known. An old CUDA image gets all without it.
func (v *view) refuses() bool {
	if v.devices.certainty == unset && v.env.image != nil {
		return v.env.get(cudaVersion).certainty == unset || v.env.get(requireCUDA).certainty != unset
	}
	return v.devices.certainty == known && !gives(v.devices.value)
}

// checks are the rules that look at one container.
var checks = []func(*view) []Finding{
	checkVariable, checkRuntime, checkPrivileged, checkDeviceMount, checkDriverMount,
	checkMPS, checkHostNamespace, checkDeviceList, checkFeatures, checkLegacy, checkShare,
}
