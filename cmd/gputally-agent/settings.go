// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/pflag"
)

// flagOnly are flags that make no sense in the environment or a file.
var flagOnly = []string{"config", "check-config", "help"}

// envName is the environment variable of a flag.
func envName(flag string) string {
	return "GPUTALLY_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// applyEnvironment sets the flags that the command line left alone. A list is
// separated by blanks.
func applyEnvironment(fs *pflag.FlagSet, getenv func(string) string) (err error) {
	fs.VisitAll(func(f *pflag.Flag) {
		value := getenv(envName(f.Name))
		if err != nil || f.Changed || value == "" || (slices.Contains(flagOnly, f.Name) && f.Name != "config") {
			return
		}
		values := []string{value}
		if _, list := f.Value.(pflag.SliceValue); list {
			values = strings.Fields(value)
		}
		if set := setFlag(f, values); set != nil {
			err = fmt.Errorf("environment: %s: %w", envName(f.Name), set)
		}
	})
	return err
}

func setFlag(f *pflag.Flag, values []string) error {
	f.Changed = true
	if list, ok := f.Value.(pflag.SliceValue); ok {
		return list.Replace(values)
	}
	if len(values) != 1 {
		return fmt.Errorf("want one value, not a list")
	}
	if err := f.Value.Set(values[0]); err != nil {
		return fmt.Errorf("%q is no %s: %w", values[0], f.Value.Type(), err)
	}
	return nil
}

// applyFile sets the flags that neither the command line nor the environment
// set. A key that is no setting is an error that names file, line and key; one
// that this command has no use for is left alone.
func applyFile(fs *pflag.FlagSet, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return fmt.Errorf("read configuration %s: %w", path, err)
	}
	known := allSettings()
	seen := map[string]bool{}
	for _, doc := range file.Docs {
		pairs, err := pairsOf(doc.Body)
		if err != nil {
			return fmt.Errorf("%s:%w", path, err)
		}
		for _, p := range pairs {
			key, line := p.Key.GetToken().Value, p.Key.GetToken().Position.Line
			if err := applyKey(fs, known, seen, key, p.Value); err != nil {
				return fmt.Errorf("%s:%d: %s: %w", path, line, key, err)
			}
		}
	}
	return nil
}

func applyKey(fs, known *pflag.FlagSet, seen map[string]bool, key string, value ast.Node) error {
	if known.Lookup(key) == nil || slices.Contains(flagOnly, key) {
		return fmt.Errorf("unknown setting; there are %s", strings.Join(settingNames(known), ", "))
	}
	if seen[key] {
		return fmt.Errorf("set twice")
	}
	seen[key] = true
	values, err := scalars(value)
	if err != nil {
		return err
	}
	// Checked even where something stronger sets it, or another command uses it.
	if err := setFlag(known.Lookup(key), values); err != nil {
		return err
	}
	if f := fs.Lookup(key); f != nil && !f.Changed {
		return setFlag(f, values)
	}
	return nil
}

// pairsOf lists the keys of a mapping. An empty document has none.
func pairsOf(body ast.Node) ([]*ast.MappingValueNode, error) {
	switch n := body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return nil, nil
	case *ast.MappingNode:
		return n.Values, nil
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, nil
	}
	return nil, fmt.Errorf("%d: want settings as \"name: value\"", body.GetToken().Position.Line)
}

func scalars(n ast.Node) ([]string, error) {
	if seq, ok := n.(*ast.SequenceNode); ok {
		var out []string
		for _, v := range seq.Values {
			one, err := scalar(v)
			if err != nil {
				return nil, err
			}
			out = append(out, one)
		}
		return out, nil
	}
	one, err := scalar(n)
	return []string{one}, err
}

func scalar(n ast.Node) (string, error) {
	switch v := n.(type) {
	case *ast.StringNode:
		return v.Value, nil
	case *ast.LiteralNode:
		return v.Value.Value, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.NullNode:
		return "", fmt.Errorf("no value given")
	}
	return "", fmt.Errorf("want a plain value or a list of them")
}

// allSettings are the settings of all commands.
func allSettings() *pflag.FlagSet {
	fs := pflag.NewFlagSet("settings", pflag.ContinueOnError)
	var c config
	c.bindSources(fs)
	c.bindService(fs)
	return fs
}

func settingNames(fs *pflag.FlagSet) []string {
	var names []string
	fs.VisitAll(func(f *pflag.Flag) {
		if !slices.Contains(flagOnly, f.Name) {
			names = append(names, f.Name)
		}
	})
	return names
}
