// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	"fmt"
	"slices"
	"strings"
)

// Describe is a table of Markdown that says of every rule of the model what
// became of it, one row a column or attribute.
func Describe(report Report) string {
	order := []Status{Passed, Failed, NotApplicable, Permission, Defective, NotCheckable}
	count := map[Status]int{}
	parts := 0
	by := map[string]map[Status][]string{}
	for _, r := range report {
		count[r.Status]++
		if r.Rule.Kind == "Composite" {
			parts++
		}
		of, suffix := nameOf(r.Rule)
		if by[of] == nil {
			by[of] = map[Status][]string{}
		}
		by[of][r.Status] = append(by[of][r.Status], suffix)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rules, %d of them composites of others.\n\n| status | rules |\n|---|---|\n", len(report), parts)
	for _, s := range order {
		fmt.Fprintf(&b, "| %s | %d |\n", s, count[s])
	}
	b.WriteString("\n| of | checked: passed | not applicable | permits | defect of the model | not by a machine |\n|---|---|---|---|---|---|\n")
	var names []string
	for of := range by {
		names = append(names, of)
	}
	slices.Sort(names)
	for _, of := range names {
		fmt.Fprintf(&b, "| %s |", of)
		for _, s := range order {
			ids := by[of][s]
			if s == Failed {
				continue // the test that writes this has none
			}
			slices.Sort(ids)
			fmt.Fprintf(&b, " %s |", ranges(ids))
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| defect of the model | why it is not evaluated |\n|---|---|\n")
	for _, r := range report {
		if r.Status == Defective && r.Rule.Kind != "Composite" {
			fmt.Fprintf(&b, "| %s | %s |\n", r.Rule.ID, r.Why)
		}
	}
	return b.String()
}

// nameOf is the column of a rule and the rest of its id: BilledCost, C-003-M.
func nameOf(r *Rule) (of, suffix string) {
	i := strings.Index(r.ID, "-")
	return r.ID[:i], r.ID[i+1:]
}

// ranges shortens C-001-M, C-002-M, C-003-C to C-001…003.
func ranges(ids []string) string {
	var out []string
	for i := 0; i < len(ids); {
		j := i
		for j+1 < len(ids) && numberOf(ids[j+1]) == numberOf(ids[j])+1 {
			j++
		}
		text := ids[i][:5]
		if j > i {
			text += "…" + ids[j][2:5]
		}
		out = append(out, text)
		i = j + 1
	}
	return strings.Join(out, " ")
}

func numberOf(id string) (n int) {
	fmt.Sscanf(id[2:5], "%d", &n)
	return n
}
