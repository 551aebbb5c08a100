// SPDX-License-Identifier: Apache-2.0

package api

import (
	"context"
	"fmt"
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gputally/gputally/internal/core/ledger"
	"github.com/gputally/gputally/internal/core/money"
	"github.com/gputally/gputally/internal/core/usage"
)

// apiVersion is the version of the API as its document states it.
const apiVersion = "1.0.0"

const description = `What the GPU bill of Kubernetes answers: reports, lines, explanations, prices, closed months, bills, checks, exports.

Every figure has its unit in its name. Money and byte-milliseconds are decimal numbers in strings, exact. Times are RFC 3339 in UTC.
What nobody knows is null or left out, never 0. Errors are application/problem+json (RFC 9457) with a code that does not change.
Fields may be added to answers; none changes its meaning.

Agents deliver records by another protocol, under /api/v1/usage/.`

func configuration() huma.Config {
	registry := huma.NewMapRegistry("#/components/schemas/", huma.DefaultSchemaNamer)
	exact := reflect.TypeFor[decimal]()
	registry.RegisterTypeAlias(reflect.TypeFor[money.Sum](), exact)
	registry.RegisterTypeAlias(reflect.TypeFor[money.Nano](), exact)
	whole := reflect.TypeFor[integer]()
	registry.RegisterTypeAlias(reflect.TypeFor[ledger.Wide](), whole)
	registry.RegisterTypeAlias(reflect.TypeFor[usage.Total](), whole)
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "gputally", Version: apiVersion, Description: description,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: registry,
				SecuritySchemes: map[string]*huma.SecurityScheme{"token": {
					Type: "http", Scheme: "bearer", Description: "Not needed where the server listens on loopback without tokens.",
				}},
			},
			Security: []map[string][]string{{"token": {}}},
		},
		OpenAPIPath: Prefix + "/openapi", Formats: huma.DefaultFormats, DefaultFormat: "application/json", RejectUnknownQueryParameters: true,
	}
	c.AllowAdditionalPropertiesByDefault = true // answers may grow; bodies forbid it themselves
	return c
}

// decimal is an exact amount in a document: a number in a string.
type decimal struct{}

// Schema is how an amount looks.
func (decimal) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^-?[0-9]+(\.[0-9]+)?$`, Examples: []any{"1234.567890123"}}
}

// integer is a whole number beyond 64 bits in a document: a number in a string.
type integer struct{}

// Schema is how such a number looks.
func (integer) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Pattern: `^-?[0-9]+$`, Examples: []any{"309237645312000000"}}
}

// Document is the OpenAPI document of the API, in YAML.
func Document() ([]byte, error) {
	h := newHandler(Options{}, http.NewServeMux())
	text, err := h.api.OpenAPI().YAML()
	if err != nil {
		return nil, fmt.Errorf("make the OpenAPI document: %w", err)
	}
	return text, nil
}

// Schemas are the shapes that the document describes, by name.
func Schemas() huma.Registry {
	return newHandler(Options{}, http.NewServeMux()).api.OpenAPI().Components.Schemas
}

// operation describes one. Marks are writes and heavy.
func operation(method, path, id, summary, description string, marks ...string) huma.Operation {
	op := huma.Operation{Method: method, Path: Prefix + path, OperationID: id, Summary: summary, Description: description, Metadata: map[string]any{}}
	role := "read"
	for _, m := range marks {
		op.Metadata[m] = true
		if m == writes {
			role = "write"
		}
	}
	if op.Description != "" {
		op.Description += "\n\n"
	}
	op.Description += "Role: " + role + "."
	return op
}

// answer is an answer with a JSON body.
type answer[T any] struct{ Body T }

// get registers an operation that is answered with JSON.
func get[In, Out any](h *handler, op huma.Operation, f func(context.Context, *In) (Out, error)) {
	if op.MaxBodyBytes == 0 {
		op.MaxBodyBytes = h.Limits.BodyBytes
	}
	huma.Register(h.api, op, func(ctx context.Context, in *In) (*answer[Out], error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, h.problemOf(err)
		}
		return &answer[Out]{out}, nil
	})
}
