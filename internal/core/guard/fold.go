// SPDX-License-Identifier: Apache-2.0

package guard

// maxFirst is how many pods are named of those in which something was found.
const maxFirst = 3

// foldKey is what makes two findings of one workload the same one.
type foldKey struct {
	rule            ID
	severity        Severity
	object          Object
	container, what string
}

func keyOf(f Finding) foldKey { return foldKey{f.Rule, f.Severity, f.Object, f.Container, f.What} }

// folded joins what was found in the pods of a workload: with what its template
// says where that is the same, else with each other. What is in the pods alone
// came in on the way, by admission for instance.
func folded(findings []Finding) []Finding {
	at := map[foldKey]int{}
	var out []Finding
	add := func(f Finding) {
		i, known := at[keyOf(f)]
		if known && (f.Pods != nil || out[i].Pods != nil) {
			out[i].Pods = out[i].Pods.and(f.Pods)
			return
		}
		at[keyOf(f)] = len(out)
		out = append(out, f)
	}
	for _, pods := range []bool{false, true} { // templates first: they are where to mend it
		for _, f := range findings {
			if (f.Pods != nil) == pods {
				add(f)
			}
		}
	}
	return out
}

// and is both together; nil is none.
func (p *Pods) and(o *Pods) *Pods {
	if p == nil || o == nil {
		if p == nil {
			return o
		}
		return p
	}
	sum := &Pods{Count: p.Count + o.Count, First: p.First}
	for _, name := range o.First {
		if len(sum.First) < maxFirst {
			sum.First = append(sum.First[:len(sum.First):len(sum.First)], name)
		}
	}
	return sum
}

// foldedExempted folds exempted findings in the same way.
func foldedExempted(exempted []Exempted) []Exempted {
	by := map[foldKey]Exemption{}
	var findings []Finding
	for _, e := range exempted {
		if _, known := by[keyOf(e.Finding)]; !known {
			by[keyOf(e.Finding)] = e.Exemption
		}
		findings = append(findings, e.Finding)
	}
	var out []Exempted
	for _, f := range folded(findings) {
		out = append(out, Exempted{Finding: f, Exemption: by[keyOf(f)]})
	}
	return out
}
