// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/gputally/gputally/tools/image/debian"
	"github.com/gputally/gputally/tools/image/spdx"
)

// bill is the bill of materials of one image: its Debian packages, its Go modules, and
// DuckDB, which comes inside of a module. It is made from what the programs say they
// were built from, and from the packages' control files.
func bill(m made, version, created string) ([]byte, error) {
	root := spdx.Package{
		Name: "gputally", Version: version, Purpose: "CONTAINER", LicenseDeclared: "Apache-2.0",
		Comment:    "linux/" + m.arch.name,
		Checksums:  []spdx.Checksum{{Algorithm: "SHA256", Value: strings.TrimPrefix(m.image.Digest, "sha256:")}},
		References: spdx.Purl("pkg:oci/gputally@" + url.QueryEscape(m.image.Digest) + "?arch=" + m.arch.name),
	}
	d := spdx.New(root, "https://"+mainModule+"/sbom/"+m.image.Digest, created)
	for _, p := range m.packages {
		d.Add(d.Root(), debianEntry(d, p, m.release))
	}
	for _, mod := range m.built.modules {
		id := d.Add(d.Root(), moduleEntry(mod, version))
		if v := duckDB(mod); v != "" {
			d.Add(id, spdx.Package{Name: "duckdb", Version: v, Purpose: "LIBRARY", LicenseDeclared: "MIT",
				Comment:    "linked statically; it comes compiled in the Go module " + mod.path,
				References: spdx.Purl("pkg:github/duckdb/duckdb@v" + v)})
		}
	}
	return d.JSON()
}

func debianEntry(d *spdx.Document, p debian.Package, release string) spdx.Package {
	out := spdx.Package{
		Name: p.Name, Version: p.Version, Purpose: "LIBRARY", Supplier: "Organization: Debian",
		References: spdx.Purl(fmt.Sprintf("pkg:deb/debian/%s@%s?arch=%s&distro=debian-%s", escape(p.Name), escape(p.Version), p.Architecture, release)),
		Comment:    "built from the source package " + p.Source,
	}
	for _, f := range p.Files {
		if f.Path == "usr/share/doc/"+p.Name+"/copyright" {
			out.LicenseDeclared = d.Licence("Debian-"+p.Name, string(f.Data))
		}
	}
	if out.LicenseDeclared == "" {
		out.Comment += "; licences: see " + docsOf(p)
	}
	return out
}

func moduleEntry(m module, version string) spdx.Package {
	p := spdx.Package{
		Name: m.path, Version: m.version, Purpose: "LIBRARY", LicenseDeclared: recognized(m.licences),
		References: spdx.Purl("pkg:golang/" + m.path + "@" + escape(m.version)),
		Comment:    "licences: /" + m.licenceFolder() + " of the image",
	}
	if m.path == mainModule {
		p.Version, p.Purpose, p.References = version, "APPLICATION", spdx.Purl("pkg:golang/"+m.path+"@"+escape(version))
	}
	if name, is := m.npmName(); is {
		p.Name, p.References = name, spdx.Purl(strings.TrimSuffix("pkg:npm/"+name+"@"+escape(m.version), "@"))
		p.Comment = "in the web page of the server; " + p.Comment
	}
	if m.sum != "" {
		p.Comment = "go.sum: " + m.sum + "; " + p.Comment
	}
	return p
}

// escape writes a part of a purl: everything but letters, digits and -._~ in percent.
func escape(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

var duckDBVersion = regexp.MustCompile(`^v0\.(\d)(\d\d)(\d\d)\.`)

// duckDB is the version of DuckDB in a module, or nothing: duckdb-go-bindings v0.10506.0
// holds DuckDB 1.5.6 (its README, "Semantic versioning").
func duckDB(m module) string {
	v := duckDBVersion.FindStringSubmatch(m.version)
	if !strings.HasPrefix(m.path, "github.com/duckdb/duckdb-go-bindings/lib/") || v == nil {
		return ""
	}
	minor, _ := strconv.Atoi(v[2])
	patch, _ := strconv.Atoi(v[3])
	return fmt.Sprintf("%s.%d.%d", v[1], minor, patch)
}
