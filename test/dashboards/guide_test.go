// SPDX-License-Identifier: Apache-2.0

package dashboards

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// runs are the blocks of a page that stand behind a mark: commands for the demo.
var runs = regexp.MustCompile("(?s)<!-- run -->\n```sh\n(.*?)```")

// guide runs the marked commands of the guide against the demo's server, those of a
// page one after the other in one shell. The Chinese pages have the same commands
// (internal/arch).
func guide(t *testing.T, w world) {
	pages, err := filepath.Glob(filepath.Join(repo, "docs/guide/*.md"))
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		script := strings.Builder{}
		for _, m := range runs.FindAllStringSubmatch(string(text), -1) {
			script.WriteString(m[1])
			ran++
		}
		if script.Len() == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			if out, err := w.shell(t, script.String()).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	if ran < 8 {
		t.Errorf("%d blocks were run", ran)
	}
}

// days is how much history the demo needs: the end of the month before this one, which
// the guide closes, and no month more, which would have to be closed first; and its
// leak, which is from the tenth to the thirteenth day, in the last thirty.
func days(now time.Time) int { return max(now.UTC().Day()+7, 14) }
