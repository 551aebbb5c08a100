// SPDX-License-Identifier: Apache-2.0

package written

import (
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestFind(t *testing.T) {
	text := strings.ReplaceAll(`Run 'gputally top --once', or 'kubectl get pods'.

'''sh
sudo bin/gputally report --where 'class!=platform' | jq .  # gputally no
A=1 gputally ledger export \
  --file x > out.csv 2>&1 && gputally status
kubectl gputally status
'''

'''yaml
run: gputally nothing
'''

    $ gputally price show NODE
`, "'''", "```")
	text = strings.Replace(text, "'gputally top --once'", "`gputally top --once`", 1)
	var got []string
	for _, l := range find("a.md", text, "gputally") {
		got = append(got, fmt.Sprintf("%d %v %q", l.Number, l.Mention, l.Words))
	}
	want := []string{
		`1 true ["top" "--once"]`, `4 false ["report" "--where" "class!=platform"]`, `5 false ["ledger" "export" "--file" "x"]`, `5 false ["status"]`, `14 false ["price" "show" "NODE"]`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := find("a.md", text, "kubectl gputally"); len(got) != 1 || got[0].Number != 7 {
		t.Errorf("kubectl: %v", got)
	}
}

func TestCheck(t *testing.T) {
	program := func() *cobra.Command {
		root := &cobra.Command{Use: "p"}
		show := &cobra.Command{Use: "show NODE", Args: cobra.ExactArgs(1), Run: func(*cobra.Command, []string) {}}
		show.Flags().String("at", "", "")
		group := &cobra.Command{Use: "price"}
		group.AddCommand(show)
		root.AddCommand(group)
		return root
	}
	for text, wrong := range map[string]bool{
		"price show n": false, "price show n --at 1": false, "price show": true, "price show a b": true, "price show n --to 1": true, "price sow n": true, "prise": true, "price show …": false,
	} {
		if err := (Line{Words: strings.Fields(text)}).Check(program); (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
	for text, wrong := range map[string]bool{"price show": false, "price sow": true, "price show --to": true} {
		if err := (Line{Words: strings.Fields(text), Mention: true}).Check(program); (err != nil) != wrong {
			t.Errorf("a mention of %s: %v", text, err)
		}
	}
}
