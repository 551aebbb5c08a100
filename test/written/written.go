// SPDX-License-Identifier: Apache-2.0

// Package written finds the command lines of a program in the project's documents, so
// that the program's tests can hold them to its commands and flags.
//
// It knows just enough of a shell for what is written there: quotes, comments, pipes,
// lines that go on. It runs nothing.
package written

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

// Line is a command line in a document: the words behind the program's name.
type Line struct {
	File   string
	Number int
	Words  []string
	// Mention is true in running text, where arguments may be left out.
	Mention bool
}

func (l Line) String() string {
	return fmt.Sprintf("%s:%d: %s", l.File, l.Number, strings.Join(l.Words, " "))
}

// Lines are those in all documents below a folder that run one of the programs, named
// as they are typed: "gputally", "kubectl gputally".
func Lines(root, program string) ([]Line, error) {
	var out []Line
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && (strings.HasPrefix(name, ".") || name == "testdata" || name == "build" || name == "bin") {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		out = append(out, find(rel, string(text), program)...)
		return nil
	})
	return out, err
}

// mentions are code in running text. Two backticks may stand around one.
var mentions = regexp.MustCompile("`([^`]+)`")

func find(file, text, program string) (out []Line) {
	add := func(number int, line string, mention bool) {
		for _, words := range split(line) {
			if rest, ok := after(words, program); ok {
				out = append(out, Line{file, number, rest, mention})
			}
		}
	}
	inBlock, lines := "", strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if mark := fence(line); mark != "" {
			switch {
			case inBlock == "":
				inBlock = mark + strings.TrimSpace(strings.TrimLeft(line, " `"))
			default:
				inBlock = ""
			}
			continue
		}
		number := i + 1
		// What programs print and files of other languages are no commands.
		code := inBlock == "```" || inBlock == "```sh" || inBlock == "```console"
		indented := inBlock == "" && strings.HasPrefix(line, "    ")
		switch {
		case code || indented:
			for strings.HasSuffix(line, `\`) && i+1 < len(lines) {
				i++
				line = strings.TrimSuffix(line, `\`) + lines[i]
			}
			add(number, strings.TrimPrefix(strings.TrimSpace(line), "$ "), false)
		case inBlock == "":
			for _, m := range mentions.FindAllStringSubmatch(line, -1) {
				add(number, m[1], true)
			}
		}
	}
	return out
}

func fence(line string) string {
	if strings.HasPrefix(strings.TrimSpace(line), "```") {
		return "```"
	}
	return ""
}

// after is what stands behind the program's name, where words run it.
func after(words []string, program string) ([]string, bool) {
	for len(words) > 0 && (words[0] == "sudo" || words[0] == "while" || words[0] == "if" || regexp.MustCompile(`^[A-Z_]+=`).MatchString(words[0])) {
		words = words[1:]
	}
	for _, name := range strings.Fields(program) {
		if len(words) == 0 || filepath.Base(words[0]) != name {
			return nil, false
		}
		words = words[1:]
	}
	return words, true
}

// split takes a line apart as a shell does: commands, each in words.
func split(line string) (commands [][]string) {
	var words []string
	var word strings.Builder
	begun := false
	end := func() {
		if begun {
			words = append(words, word.String())
			word.Reset()
			begun = false
		}
	}
	next := func() {
		end()
		if len(words) > 0 {
			commands = append(commands, words)
			words = nil
		}
	}
	quote, skip := rune(0), false // skip: the target of a redirection
	for i, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			} else {
				word.WriteRune(r)
			}
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == ' ' || r == '\t':
			if skip && begun {
				word.Reset()
				begun, skip = false, false
			}
			end()
		case r == '#' && !begun && (i == 0 || line[i-1] == ' '):
			next()
			return commands
		case r == '>' || r == '<':
			if !skip {
				if s := word.String(); s == "2" || s == "1" || s == "&" {
					word.Reset()
					begun = false
				}
				end()
			}
			skip = true
		case r == '|' || r == ';' || r == '&' || r == '(' || r == ')':
			if skip && begun {
				word.Reset()
				begun = false
			}
			skip = false
			next()
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	if skip {
		word.Reset()
		begun = false
	}
	next()
	return commands
}

// Check holds a line to the commands and flags of a program, as it would read it, and
// says what it would not take. root makes the program's commands anew.
func (l Line) Check(root func() *cobra.Command) error {
	var words []string
	hole := l.Mention
	for _, w := range l.Words {
		switch {
		case w == "…" || w == "...":
			hole = true // something is left out
		case strings.HasPrefix(w, "["): // may be left out
			hole = true
		default:
			words = append(words, w)
		}
	}
	program := root()
	c, rest, err := program.Find(words)
	if err != nil {
		return err
	}
	if c.HasSubCommands() && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && !c.Runnable() {
		return fmt.Errorf("%s has no command %s", c.CommandPath(), rest[0])
	}
	c.InitDefaultHelpFlag()
	c.InitDefaultVersionFlag()
	if err := c.ParseFlags(rest); err != nil {
		if !l.Mention || !strings.Contains(err.Error(), "needs an argument") {
			return err
		}
		return nil
	}
	if help, err := c.Flags().GetBool("help"); hole || err == nil && help {
		if !c.HasSubCommands() || c.Flags().NArg() == 0 {
			return nil
		}
		if c.Args == nil {
			return fmt.Errorf("%s has no command %s", c.CommandPath(), c.Flags().Arg(0))
		}
		return c.Args(c, c.Flags().Args()) // a word that is neither a command nor an argument
	}
	if err := c.ValidateRequiredFlags(); err != nil {
		return err
	}
	if c.Args == nil {
		return nil
	}
	return c.Args(c, c.Flags().Args())
}
