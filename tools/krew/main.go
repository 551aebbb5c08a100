// SPDX-License-Identifier: Apache-2.0

// Command krew packs gputally as a plugin of kubectl: an archive for each platform, and
// the manifest by which Krew, the plugin manager of kubectl, finds and checks them
// (https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/). It builds no program
// and publishes nothing.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/pflag"
)

func main() {
	if err := run(os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "krew:", err)
		os.Exit(1)
	}
}

// options is what the command line says.
type options struct {
	out, url, version, licence string
	programs                   map[string]string // by platform
}

// semantic is what Krew takes for a version (https://semver.org, with a v before it).
var semantic = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

func run(args []string) error {
	var o options
	fs := pflag.NewFlagSet("krew", pflag.ContinueOnError)
	fs.StringVarP(&o.out, "out", "o", "bin/krew", "`FOLDER` for the archives and gputally.yaml")
	fs.StringVar(&o.url, "url", "", "`URL` of the folder that the archives will be fetched from")
	fs.StringVar(&o.version, "version", "", "`VERSION` of the plugin, such as v0.1.0")
	fs.StringVar(&o.licence, "licence", "LICENSE", "`FILE` with the licence, which goes into each archive")
	fs.StringToStringVar(&o.programs, "program", nil, "OS/ARCHITECTURE=`FILE` of the program gputally, several times")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if err := o.check(); err != nil {
		return err
	}
	return o.write()
}

func (o options) check() error {
	switch {
	case !semantic.MatchString(o.version):
		return fmt.Errorf("--version %q: Krew takes versions such as v0.1.0", o.version)
	case !strings.HasPrefix(o.url, "https://"):
		return fmt.Errorf("--url %q: want the https:// address that the archives will be fetched from", o.url)
	case len(o.programs) == 0:
		return errors.New("no --program is given: name at least one, such as --program linux/amd64=bin/gputally")
	}
	for platform := range o.programs {
		if system, arch, ok := strings.Cut(platform, "/"); !ok || system == "" || arch == "" || strings.Contains(arch, "/") {
			return fmt.Errorf("--program %q: want OS/ARCHITECTURE=FILE, such as linux/amd64=bin/gputally", platform)
		}
	}
	return nil
}

// write puts the archives and the manifest that names them into the folder.
func (o options) write() error {
	if err := os.MkdirAll(o.out, 0o755); err != nil {
		return fmt.Errorf("make the folder for the archives: %w", err)
	}
	archives, err := o.pack()
	if err != nil {
		return err
	}
	text, err := manifest(o.version, strings.TrimSuffix(o.url, "/"), archives)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.out, "gputally.yaml"), text, 0o644); err != nil {
		return fmt.Errorf("write the manifest: %w", err)
	}
	return nil
}
