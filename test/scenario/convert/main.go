// SPDX-License-Identifier: Apache-2.0

// Command convert turns stories of the design (story: 1) into captures with
// expectations for package scenario. It changes what differs between the two
// formats and leaves the rest, comments included, as it was written:
//
//	go run ./test/scenario/convert -from DESIGN/cases -to test/scenario/testdata
//
// Stories that do not feed on the node or on Kubernetes objects are not
// converted; NOT_CONVERTED in the target directory lists them with the reason.
// allowed.yaml, beside this file, lists findings that a story leaves unsaid and
// that are right all the same.
package main

import (
	"bytes"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	yaml "github.com/goccy/go-yaml"

	"github.com/gputally/gputally/internal/adapter/capture"
)

//go:embed allowed.yaml
var allowedText []byte

func main() {
	from := flag.String("from", "", "directory of the stories")
	to := flag.String("to", "test/scenario/testdata", "directory of the captures")
	flag.Parse()
	if err := convertAll(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "convert:", err)
		os.Exit(1)
	}
}

func convertAll(from, to string) error {
	if from == "" {
		return errors.New("-from is missing; name the directory of the stories")
	}
	var allowed map[string][]map[string]any
	if err := yaml.UnmarshalWithOptions(allowedText, &allowed, yaml.Strict()); err != nil {
		return fmt.Errorf("read allowed.yaml: %w", err)
	}
	files, err := filepath.Glob(filepath.Join(from, "*.yaml"))
	if err != nil {
		return err
	}
	var skipped bytes.Buffer
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		s, err := readStory(text)
		if err != nil {
			return fmt.Errorf("read story %s: %w", file, err)
		}
		if s.Oracle == "skip" {
			fmt.Fprintf(&skipped, "%s: %s (%s)\n", s.ID, s.Title, s.Reason)
			continue
		}
		out := convert(string(text), s, allowed[s.ID])
		target := filepath.Join(to, s.ID+".yaml")
		if _, err := capture.Read(strings.NewReader(out), target); err != nil {
			return fmt.Errorf("convert story %s: %w", file, err)
		}
		if err := os.WriteFile(target, []byte(out), 0o644); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(to, "NOT_CONVERTED"), skipped.Bytes(), 0o644)
}
