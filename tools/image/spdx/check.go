// SPDX-License-Identifier: Apache-2.0

package spdx

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Check tells the first thing in which the document is not SPDX 2.3: fields that must be
// there, the form of identifiers, and relations that lead nowhere (SPDX 2.3, clauses 6, 7,
// 10 and 11).
func (d *Document) Check() error {
	if err := d.checkHead(); err != nil {
		return fmt.Errorf("bill of materials %q: %w", d.Name, err)
	}
	ids := map[string]bool{d.ID: true}
	for _, p := range d.Packages {
		if ids[p.ID] {
			return fmt.Errorf("bill of materials %q: SPDXID %s is there twice", d.Name, p.ID)
		}
		ids[p.ID] = true
		if err := d.checkPackage(p); err != nil {
			return fmt.Errorf("bill of materials %q: package %q: %w", d.Name, p.Name, err)
		}
	}
	for _, r := range d.Relationships {
		if !ids[r.From] || !ids[r.To] {
			return fmt.Errorf("bill of materials %q: relationship %s %s %s leads to no element", d.Name, r.From, r.Kind, r.To)
		}
	}
	return nil
}

func (d *Document) checkHead() error {
	switch {
	case d.Version != "SPDX-2.3":
		return fmt.Errorf("spdxVersion is %q, not SPDX-2.3", d.Version)
	case d.DataLicense != "CC0-1.0":
		return fmt.Errorf("dataLicense is %q, not CC0-1.0", d.DataLicense)
	case d.ID != documentID:
		return fmt.Errorf("SPDXID is %q, not %s", d.ID, documentID)
	case d.Name == "" || len(d.Creation.Creators) == 0 || len(d.Packages) == 0 || len(d.Relationships) == 0:
		return fmt.Errorf("name, creators, packages or relationships are empty")
	}
	if u, err := url.Parse(d.Namespace); err != nil || !u.IsAbs() || u.Fragment != "" {
		return fmt.Errorf("documentNamespace %q is no URI without a fragment", d.Namespace)
	}
	if _, err := time.Parse("2006-01-02T15:04:05Z", d.Creation.Created); err != nil {
		return fmt.Errorf("created %q: write YYYY-MM-DDThh:mm:ssZ", d.Creation.Created)
	}
	return nil
}

var (
	identifier = regexp.MustCompile(`^SPDXRef-[A-Za-z0-9.-]+$`)
	licence    = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)
)

func (d *Document) checkPackage(p Package) error {
	switch {
	case !identifier.MatchString(p.ID):
		return fmt.Errorf("SPDXID %q", p.ID)
	case p.Name == "" || p.DownloadLocation == "" || p.LicenseConcluded == "" || p.Copyright == "" || p.Supplier == "":
		return fmt.Errorf("name, supplier, downloadLocation, licenseConcluded or copyrightText is empty: write NOASSERTION")
	case !licence.MatchString(p.LicenseDeclared):
		return fmt.Errorf("licenseDeclared %q is no licence", p.LicenseDeclared)
	}
	if strings.HasPrefix(p.LicenseDeclared, "LicenseRef-") && !d.has(p.LicenseDeclared) {
		return fmt.Errorf("licenseDeclared %s has no text in the document", p.LicenseDeclared)
	}
	for _, r := range p.References {
		if r.Type == "purl" && !strings.HasPrefix(r.Locator, "pkg:") {
			return fmt.Errorf("purl %q does not begin with pkg:", r.Locator)
		}
	}
	return nil
}

func (d *Document) has(licence string) bool {
	for _, x := range d.ExtractedLicences {
		if x.ID == licence {
			return true
		}
	}
	return false
}
