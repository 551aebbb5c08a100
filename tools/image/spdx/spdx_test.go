// SPDX-License-Identifier: Apache-2.0

package spdx_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/gputally/gputally/tools/image/spdx"
)

func sample() *spdx.Document {
	d := spdx.New(spdx.Package{Name: "image", Version: "v1", LicenseDeclared: "Apache-2.0"}, "https://example.com/sbom/1", "2026-12-01T00:00:00Z")
	libc := spdx.Package{Name: "libc6", Version: "2.36+x~1", LicenseDeclared: d.Licence("Debian-libc6", "words"), References: spdx.Purl("pkg:deb/debian/libc6@2.36")}
	d.Add(d.Root(), libc)
	d.Add(d.Root(), libc)
	d.Add(d.Root(), spdx.Package{Name: "example.com/a_b/v2", Version: "v2.0.0"})
	return d
}

func TestDocumentHasTheFieldsOfTheStandard(t *testing.T) {
	text, err := sample().JSON()
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"spdxVersion", "dataLicense", "SPDXID", "name", "documentNamespace", "creationInfo", "packages", "relationships", "hasExtractedLicensingInfos"} {
		if got[key] == nil {
			t.Errorf("the document has no %s", key)
		}
	}
	packages := got["packages"].([]any)
	if len(packages) != 3 {
		t.Fatalf("%d packages, want 3: the same one twice is one", len(packages))
	}
	last := packages[2].(map[string]any)
	for key, want := range map[string]any{
		"SPDXID": "SPDXRef-example.com-a-b-v2-v2.0.0", "licenseDeclared": "NOASSERTION", "licenseConcluded": "NOASSERTION",
		"downloadLocation": "NOASSERTION", "filesAnalyzed": false, "copyrightText": "NOASSERTION",
	} {
		if last[key] != want {
			t.Errorf("%s is %v, want %v", key, last[key], want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for want, spoil := range map[string]func(*spdx.Document){
		"spdxVersion":       func(d *spdx.Document) { d.Version = "SPDX-2.2" },
		"documentNamespace": func(d *spdx.Document) { d.Namespace = "sbom/1" },
		"created":           func(d *spdx.Document) { d.Creation.Created = "2026-12-01" },
		"twice":             func(d *spdx.Document) { d.Packages = append(d.Packages, d.Packages[1]) },
		"no element":        func(d *spdx.Document) { d.Relationships[1].To = "SPDXRef-other" },
		"has no text":       func(d *spdx.Document) { d.ExtractedLicences = nil },
		"is no licence":     func(d *spdx.Document) { d.Packages[1].LicenseDeclared = "see file" },
		"pkg:":              func(d *spdx.Document) { d.Packages[1].References[0].Locator = "deb/libc6" },
		"NOASSERTION":       func(d *spdx.Document) { d.Packages[1].Supplier = "" },
	} {
		d := sample()
		if err := d.Check(); err != nil {
			t.Fatal(err)
		}
		spoil(d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Check says %v, want something about %q", err, want)
		}
	}
}
