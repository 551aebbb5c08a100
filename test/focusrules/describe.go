// SPDX-License-Identifier: Apache-2.0

package focusrules

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/adapter/translation"
)

//go:embed zh.txt
var chinese string

// Describe is a table of Markdown that says of every rule of the model what
// became of it, one row a column or attribute, in English or Chinese.
func Describe(report Report, lang string) (string, error) {
	c, err := translation.For(lang, chinese)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	describeStatus(&b, c, report)
	describeRules(&b, c, report)
	b.WriteString(c.Text("\n| defect of the model | why it is not evaluated |\n|---|---|\n"))
	for _, r := range report {
		if r.Status == Defective && r.Rule.Kind != "Composite" {
			fmt.Fprintf(&b, "| %s | %s |\n", r.Rule.ID, c.Say(r.Why))
		}
	}
	return b.String(), c.Print(io.Discard, "")
}

var order = []Status{Passed, Failed, NotApplicable, Permission, Defective, NotCheckable}

func describeStatus(b *strings.Builder, c *translation.Catalogue, report Report) {
	count := map[Status]int{}
	parts := 0
	for _, r := range report {
		count[r.Status]++
		if r.Rule.Kind == "Composite" {
			parts++
		}
	}
	fmt.Fprintf(b, c.Say("%d rules, %d of them composites of others."), len(report), parts)
	b.WriteString("\n\n" + c.Text("| status | rules |\n|---|---|\n"))
	for _, s := range order {
		fmt.Fprintf(b, "| %s | %d |\n", c.Say(string(s)), count[s])
	}
}

func describeRules(b *strings.Builder, c *translation.Catalogue, report Report) {
	by := map[string]map[Status][]string{}
	for _, r := range report {
		of, suffix := nameOf(r.Rule)
		if by[of] == nil {
			by[of] = map[Status][]string{}
		}
		by[of][r.Status] = append(by[of][r.Status], suffix)
	}
	b.WriteString(c.Text("\n| of | checked: passed | not applicable | permits | defect of the model | not by a machine |\n|---|---|---|---|---|---|\n"))
	var names []string
	for of := range by {
		names = append(names, of)
	}
	slices.Sort(names)
	for _, of := range names {
		fmt.Fprintf(b, "| %s |", of)
		for _, s := range order {
			ids := by[of][s]
			if s == Failed {
				continue // the test that writes this has none
			}
			slices.Sort(ids)
			fmt.Fprintf(b, " %s |", ranges(ids))
		}
		b.WriteString("\n")
	}
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
