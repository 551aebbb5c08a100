// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// vendorFolder has the scripts of the web page that others wrote. They are in the server
// program as they lie there.
const vendorFolder = "internal/adapter/webui/static/vendor"

// bundles are packages that are inside of another one's file, which does not tell their
// version.
var bundles = map[string][]string{"htm-preact": {"htm", "preact"}}

var scriptName = regexp.MustCompile(`^([a-z-]+)-(\d+\.\d+\.\d+)\.js$`)

// npm is where a package of npm stands among the modules.
const npm = "npm/"

// vendored are the npm packages of the web page, with the licences that lie beside them.
// A file NAME-VERSION.js is package NAME; of a bundle the version is the first one's.
func vendored(root string) (out []module, err error) {
	dir := filepath.Join(root, vendorFolder)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		name := scriptName.FindStringSubmatch(e.Name())
		if name == nil {
			if strings.HasSuffix(e.Name(), ".js") {
				return nil, fmt.Errorf("%s/%s: name it NAME-VERSION.js, so that the bill of materials can name it", vendorFolder, e.Name())
			}
			continue
		}
		packages, version := bundles[name[1]], name[2]
		if packages == nil {
			packages = []string{name[1]}
		}
		for _, p := range packages {
			data, err := os.ReadFile(filepath.Join(dir, p+".LICENSE"))
			if err != nil {
				return nil, fmt.Errorf("licence of %s in %s: %w", p, e.Name(), err)
			}
			out = append(out, module{path: npm + p, version: version, licences: []text{{"LICENSE", data}}})
			version = "" // not told
		}
	}
	return out, nil
}

// npmName is the name of an npm package, false for a Go module.
func (m module) npmName() (string, bool) { return path.Base(m.path), strings.HasPrefix(m.path, npm) }
