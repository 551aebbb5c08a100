// SPDX-License-Identifier: Apache-2.0

// Package strictyaml reads small YAML documents that people write, field by
// field: what nobody asks for is a mistake, scalars keep the text they were
// written with, and every mistake has its file, line and field.
//
// It owns the tree of a document, the collecting of mistakes and the reading of
// plain values: texts, amounts, moments, counts. It does not know what a document
// means (price books and policies do), and refuses anchors, aliases and tags.
package strictyaml
