// SPDX-License-Identifier: Apache-2.0

package ingest

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gputally/gputally/internal/core/journal"
)

// TestDocumentNamesWhatThereIs: docs/formats/ingest.md has every path, every code
// and every limit, and no other code.
func TestDocumentNamesWhatThereIs(t *testing.T) {
	data, err := os.ReadFile("../../../docs/formats/ingest.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	l := Limits{}.withDefaults()
	for _, want := range []string{PathBatches, PathMarks, fmt.Sprintf("%d MiB as sent", l.BodyBytes>>20), fmt.Sprintf("%d MiB unpacked", l.DecodedBytes>>20),
		fmt.Sprintf("%d batches", l.Batches), fmt.Sprintf("at least %d bytes", minToken)} {
		if !strings.Contains(doc, want) {
			t.Errorf("no word of %q", want)
		}
	}
	codes := []string{CodeVersion, CodeUnreadable, CodeEncoding, CodeTooLarge, CodeUnauthorized, CodeForbidden, CodeBusy, CodeAgent, CodeNotFound, CodeMethod, CodeInternal,
		journal.RefusedUnreadable, journal.RefusedInvalid, journal.RefusedGaps, journal.RefusedByStore}
	var got []string
	for _, m := range regexp.MustCompile("(?m)^\\|(?: \\d+ \\|)? `([a-z_]+)` \\|").FindAllStringSubmatch(doc, -1) {
		got = append(got, m[1])
	}
	slices.Sort(codes)
	slices.Sort(got)
	if !slices.Equal(codes, got) {
		t.Errorf("codes in the document\n%v\nin the program\n%v", got, codes)
	}
}
