// SPDX-License-Identifier: Apache-2.0

package dashboards

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/test/history"
	"github.com/gputally/gputally/test/written"
)

// toldIn are where the documents tell commands with names that stand for the reader's,
// in an order in which each has what it needs.
var toldIn = []struct{ file, heading string }{
	{"docs/guide/how-to.md", "## Act on advice"},
	{"README.md", "## The bill"}, {"README.md", "## What would I change?"}, {"README.md", "## When a figure is disputed"},
}

// elsewhere are commands that are tried in other places: programs that stay and what is
// done on a node in test/delivery, what wants a cloud's bill or asks back in
// cmd/gputally.
var elsewhere = regexp.MustCompile(`gputally server|gputally-agent|gputally replay|bill import|period close`)

// told runs these commands against the demo's server, with its names in place of the
// documents'.
func told(t *testing.T, w world) {
	now := time.Now().UTC()
	last := now.AddDate(0, 0, -now.Day()) // the end of the month before this one
	names := strings.NewReplacer("bin/gputally", "gputally", "NODE", history.NodeAWS, "ml/Deployment/bge", "research/Deployment/sleeper",
		"ml/Job/train", "ml/Deployment/notebook-all-gpus", "--since 7d", "--since 30d", "5d0c8e2f91ab37c4", recommended(t, w),
		"2026-11-20", last.Format(time.DateOnly), "2026-11", last.Format("2006-01"), "2027-02-01", now.AddDate(0, 2, 0).Format(time.DateOnly))
	ran := 0
	for _, in := range toldIn {
		text, err := os.ReadFile(filepath.Join(repo, in.file))
		if err != nil {
			t.Fatal(err)
		}
		for _, block := range written.Typed(string(text), in.heading) {
			for _, c := range block {
				if elsewhere.MatchString(c) {
					continue
				}
				ran++
				if out, err := w.shell(t, names.Replace(c)).CombinedOutput(); err != nil {
					t.Errorf("%s: %s: %v\n%s", in.file, c, err, out)
				}
			}
		}
	}
	if ran < 15 {
		t.Errorf("%d commands were run", ran)
	}
}

// recommended is the id of something that the demo's server advises.
func recommended(t *testing.T, w world) string {
	t.Helper()
	out, err := w.shell(t, "gputally advise -o json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Workloads []struct {
			Recommendations []struct{ ID, State string }
		}
	}
	if err := json.Unmarshal(out, &said); err != nil {
		t.Fatal(err)
	}
	for _, x := range said.Workloads {
		for _, r := range x.Recommendations {
			if r.State != "refused" {
				return r.ID
			}
		}
	}
	t.Fatalf("nothing is advised:\n%s", out)
	return ""
}

// shell is a script of who has the programs and asks the demo's server.
func (w world) shell(t *testing.T, script string) *exec.Cmd {
	c := exec.Command("bash", "-euxo", "pipefail", "-c", script)
	c.Dir = t.TempDir()
	c.Env = append(os.Environ(), "GPUTALLY_SERVER=http://"+w.server, "PATH="+w.bin+":"+os.Getenv("PATH"))
	return c
}
