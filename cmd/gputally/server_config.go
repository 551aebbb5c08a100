// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/gputally/gputally/internal/adapter/strictyaml"
)

// flagOnly are flags that a configuration file cannot set.
var flagOnly = []string{"config", "help"}

// maxConfigBytes bounds a configuration file: one that is larger is another file.
const maxConfigBytes = 1 << 20

// fromFile sets the flags that neither the command line nor the environment set.
// Every value is checked, also where something stronger sets it. An error names
// file, line, field and what may stand there.
func fromFile(fs *pflag.FlagSet, path string) error {
	text, err := readConfig(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	body, err := strictyaml.Parse(path, text, `want settings as NAME: VALUE, such as "data-dir: /var/lib/gputally"`)
	if err != nil {
		return err
	}
	mistakes := &strictyaml.Mistakes{File: path}
	o := mistakes.Object(body, "")
	try := pflag.NewFlagSet("", pflag.ContinueOnError)
	new(serverFlags).define(try)
	try.VisitAll(func(f *pflag.Flag) {
		if slices.Contains(flagOnly, f.Name) {
			return
		}
		set, given := settingOf(o, f)
		if !given {
			return
		}
		if err := set(f); err != nil {
			o.Add(o.LineOf(f.Name), f.Name, "%v", err)
			return
		}
		if to := fs.Lookup(f.Name); !to.Changed {
			_ = set(to) // the same value was just taken
			to.Changed = true
		}
	})
	o.Done()
	return mistakes.Err()
}

func readConfig(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err == nil && len(text) > maxConfigBytes {
		err = fmt.Errorf("%s has more than %d bytes: it is no configuration", path, maxConfigBytes)
	}
	return text, err
}

// settingOf reads a flag's field: a plain value, a list, or names with values.
// What it returns sets the flag of that name.
func settingOf(o *strictyaml.Object, f *pflag.Flag) (set func(*pflag.Flag) error, given bool) {
	found := o.Found()
	switch f.Value.Type() {
	case "stringArray", "stringSlice":
		list := o.Strings(f.Name)
		set = func(f *pflag.Flag) error { return f.Value.(pflag.SliceValue).Replace(list) }
	case "stringToString":
		pairs := o.Texts(f.Name)
		set = func(f *pflag.Flag) error { return setPairs(f, pairs) }
	default:
		text := o.Text(f.Name)
		set = func(f *pflag.Flag) error {
			if err := f.Value.Set(text); err != nil {
				return fmt.Errorf("%q: write %s: %w", text, kindOf(f), err)
			}
			return nil
		}
	}
	return set, o.Has(f.Name) && o.Found() == found
}

// setPairs sets a flag of NAME=VALUE pairs.
func setPairs(f *pflag.Flag, pairs map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(pairs)) {
		if strings.ContainsAny(name+pairs[name], `=,"`) {
			return fmt.Errorf("%q: %q: neither name nor value may have an = , or \" in it", name, pairs[name])
		}
		if err := f.Value.Set(name + "=" + pairs[name]); err != nil {
			return err
		}
	}
	return nil
}

// kindOf says what a flag takes in a configuration file.
func kindOf(f *pflag.Flag) string {
	switch f.Value.Type() {
	case "bool":
		return "true or false"
	case "duration":
		return "a time such as 48h or 90m"
	case "int", "int64":
		return "a whole number"
	case "stringArray", "stringSlice":
		return "a list"
	case "stringToString":
		return "names with values"
	}
	return "a text"
}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "GPUTALLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}
