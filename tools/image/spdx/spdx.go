// SPDX-License-Identifier: Apache-2.0

// Package spdx writes a software bill of materials as SPDX 2.3 in JSON, and checks one.
// It owns the document's form: identifiers, purls, relations. What is in an image is
// told to it.
package spdx

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Document is a bill of materials.
type Document struct {
	Version           string         `json:"spdxVersion"`
	DataLicense       string         `json:"dataLicense"`
	ID                string         `json:"SPDXID"`
	Name              string         `json:"name"`
	Namespace         string         `json:"documentNamespace"`
	Creation          Creation       `json:"creationInfo"`
	Packages          []Package      `json:"packages"`
	Relationships     []Relationship `json:"relationships"`
	ExtractedLicences []Extracted    `json:"hasExtractedLicensingInfos,omitempty"`
}

// Creation says who made the document, and when.
type Creation struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// Package is one thing that is in the image, or the image.
type Package struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	Version          string      `json:"versionInfo,omitempty"`
	Purpose          string      `json:"primaryPackagePurpose,omitempty"`
	Supplier         string      `json:"supplier"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	Comment          string      `json:"comment,omitempty"`
	Checksums        []Checksum  `json:"checksums,omitempty"`
	References       []Reference `json:"externalRefs,omitempty"`
}

// Checksum is a digest of the whole package.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// Reference names the package elsewhere; a purl.
type Reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// Relationship ties two elements.
type Relationship struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}

// Extracted is a licence that is not on SPDX's list, with its text.
type Extracted struct {
	ID   string `json:"licenseId"`
	Name string `json:"name"`
	Text string `json:"extractedText"`
}

// The word of SPDX for what nobody has looked into.
const unknown = "NOASSERTION"

const documentID = "SPDXRef-DOCUMENT"

// New begins a document about one root package. created is RFC 3339 in UTC, with whole
// seconds; namespace is a URI that no other document has.
func New(root Package, namespace, created string) *Document {
	d := &Document{
		Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: documentID, Name: root.Name + "-" + root.Version, Namespace: namespace,
		Creation: Creation{Created: created, Creators: []string{"Organization: gputally", "Tool: gputally-tools-image"}},
	}
	d.Relationships = append(d.Relationships, Relationship{documentID, "DESCRIBES", d.put(root)})
	return d
}

// Add puts a package into another one and returns its identifier. The same package
// again (name and version) is one package with one more relation.
func (d *Document) Add(inside string, p Package) string {
	id := d.put(p)
	d.Relationships = append(d.Relationships, Relationship{inside, "CONTAINS", id})
	return id
}

// Root is the identifier of the package that the document is about.
func (d *Document) Root() string { return d.Packages[0].ID }

// Licence adds a licence text that is not on SPDX's list, and returns its identifier.
func (d *Document) Licence(name, text string) string {
	id := "LicenseRef-" + plain(name)
	for _, x := range d.ExtractedLicences {
		if x.ID == id {
			return id
		}
	}
	d.ExtractedLicences = append(d.ExtractedLicences, Extracted{ID: id, Name: name, Text: text})
	return id
}

func (d *Document) put(p Package) string {
	p.ID = "SPDXRef-" + plain(p.Name+"-"+p.Version)
	for _, old := range d.Packages {
		if old.ID == p.ID {
			return p.ID
		}
	}
	for _, field := range []*string{&p.Supplier, &p.DownloadLocation, &p.LicenseConcluded, &p.LicenseDeclared, &p.Copyright} {
		if *field == "" {
			*field = unknown
		}
	}
	d.Packages = append(d.Packages, p)
	return p.ID
}

// Purl is the reference by package URL.
func Purl(purl string) []Reference {
	return []Reference{{Category: "PACKAGE-MANAGER", Type: "purl", Locator: purl}}
}

// JSON is the document as it is kept.
func (d *Document) JSON() ([]byte, error) {
	if err := d.Check(); err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return nil, fmt.Errorf("write bill of materials %s: %w", d.Name, err)
	}
	return append(out, '\n'), nil
}

// plain has only the letters that SPDX allows in identifiers.
func plain(s string) string {
	return strings.Trim(regexp.MustCompile(`[^A-Za-z0-9.-]+`).ReplaceAllString(s, "-"), "-")
}
