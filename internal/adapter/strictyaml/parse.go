// SPDX-License-Identifier: Apache-2.0

package strictyaml

import (
	"errors"
	"fmt"

	yaml "github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxDepth is how deeply a document may be nested; the documents read here need
// five levels.
const maxDepth = 32

// Parse reads one YAML document. What says in an error which document was
// expected: "a price book … that begins with pricebook: 1". Every error is an
// *Error.
func Parse(name string, text []byte, what string) (body Value, err error) {
	defer func() {
		// The YAML library is known to panic on some malformed texts.
		if p := recover(); p != nil {
			body, err = Value{}, &Error{File: name, Msg: fmt.Sprintf("this is not valid YAML (%v)", p)}
		}
	}()
	tokens := lexer.Tokenize(string(text))
	if line := TooDeep(tokens, maxDepth); line > 0 {
		return body, &Error{File: name, Line: line, Msg: fmt.Sprintf("is nested more than %d levels deep", maxDepth)}
	}
	file, err := parser.Parse(tokens, 0)
	if err != nil {
		return body, notYAML(name, err)
	}
	if len(file.Docs) != 1 || file.Docs[0].Body == nil {
		return body, &Error{File: name, Msg: "holds no document, or several; " + what}
	}
	return valueOf(file.Docs[0].Body), nil
}

// TooDeep reports the line on which brackets, or markers of one line, nest deeper
// than so many levels, or 0. The parser recurses without a limit, so every reader of
// YAML asks before it parses.
func TooDeep(tokens token.Tokens, levels int) int {
	flow, line, onLine := 0, 0, 0
	for _, t := range tokens {
		if t.Position.Line != line {
			line, onLine = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			onLine++
		}
		if flow > levels || onLine > levels || t.Position.IndentNum > 8*levels {
			return line
		}
	}
	return 0
}

func notYAML(name string, err error) error {
	var y yaml.Error
	if !errors.As(err, &y) {
		return &Error{File: name, Msg: "this is not valid YAML: " + err.Error()}
	}
	line := 0
	if t := y.GetToken(); t != nil && t.Position != nil {
		line = t.Position.Line
	}
	return &Error{File: name, Line: line, Msg: "this is not valid YAML: " + y.GetMessage()}
}
