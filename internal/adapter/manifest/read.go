// SPDX-License-Identifier: Apache-2.0

package manifest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gputally/gputally/internal/core/guard"
)

// Stdin is the path that stands for standard input; StdinName is what it is
// called in reports.
const (
	Stdin     = "-"
	StdinName = "stdin"
)

// Options say how manifests are read.
type Options struct {
	// Namespace is that of objects that name none.
	Namespace string
	// Stdin is read for the path "-".
	Stdin io.Reader
}

// Result is what was read. What is in Mistakes is not in Input.
type Result struct {
	Input    guard.Input
	Skipped  []Skipped
	Mistakes []Mistake
	// Files and Documents say how many were read.
	Files, Documents int
	walking          bool // a directory, where not every file is a manifest
}

// Read reads files, directories (every .yaml, .yml and .json below them, hidden
// ones left out) and standard input. It always returns what could be read.
func Read(paths []string, o Options) Result {
	var out Result
	for _, p := range paths {
		out.path(p, o)
	}
	return out
}

func (out *Result) path(p string, o Options) {
	out.walking = false
	if p == Stdin {
		if o.Stdin != nil {
			out.stream(StdinName, o.Stdin, o)
		}
		return
	}
	info, err := os.Stat(p)
	switch {
	case err != nil:
		out.fail(p, err)
	case info.IsDir():
		out.walking = true
		out.directory(p, o)
	default:
		out.file(p, o)
	}
}

// fail is a file that cannot be read at all.
func (out *Result) fail(p string, err error) {
	var in *fs.PathError
	if errors.As(err, &in) {
		err = in.Err // the path is said already
	}
	out.Mistakes = append(out.Mistakes, Mistake{File: p, Message: fmt.Sprintf("cannot be read: %v; give a file, a directory, or - for standard input", err)})
}

func (out *Result) directory(dir string, o Options) {
	var files []string
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		hidden := p != dir && strings.HasPrefix(d.Name(), ".")
		switch {
		case err != nil:
			out.fail(p, err)
		case hidden && d.IsDir():
			return filepath.SkipDir
		case !hidden && !d.IsDir() && slices.Contains([]string{".yaml", ".yml", ".json"}, strings.ToLower(filepath.Ext(p))):
			files = append(files, p)
		}
		return nil
	})
	if err != nil {
		out.fail(dir, err)
	}
	if len(files) == 0 {
		out.Mistakes = append(out.Mistakes, Mistake{File: dir, Message: "holds no .yaml, .yml or .json file; name the files one by one where they are called otherwise"})
	}
	for _, p := range files {
		out.file(p, o)
	}
}

func (out *Result) file(p string, o Options) {
	f, err := os.Open(p)
	if err != nil {
		out.fail(p, err)
		return
	}
	defer f.Close()
	out.stream(p, f, o)
}

func (out *Result) stream(name string, from io.Reader, o Options) {
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	switch {
	case err != nil:
		out.fail(name, err)
		return
	case len(text) > maxBytes:
		out.Mistakes = append(out.Mistakes, Mistake{File: name, Message: fmt.Sprintf("is larger than %d MiB; split it", maxBytes>>20)})
		return
	}
	out.text(name, string(text), o)
}

func (out *Result) text(name, text string, o Options) {
	out.Files++
	if strings.EqualFold(filepath.Ext(name), ".toml") {
		out.Documents++
		r := &reading{out: out, file: name, number: 1}
		r.toml(text)
		return
	}
	docs := documents(text)
	if len(docs) == 0 && !out.walking {
		out.Mistakes = append(out.Mistakes, Mistake{File: name, Message: "holds no document; check the command that writes it"})
	}
	for _, d := range docs {
		out.Documents++
		r := &reading{out: out, file: name, number: d.number, namespace: o.Namespace}
		if d.err != nil {
			r.mistake(d.err.line, "", d.err.msg+otherwise(d.err.msg))
			continue
		}
		r.object(node{r: r, v: d.value}, kind{})
	}
}

// otherwise says what to do about a text that is not valid.
func otherwise(message string) string {
	if strings.HasPrefix(message, "this is not valid") && !strings.Contains(message, "template") {
		return "; correct it, and scan again"
	}
	return ""
}
