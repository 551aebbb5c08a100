// SPDX-License-Identifier: Apache-2.0

package api

import (
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"

	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/inquiry"
)

// receive puts the files of a bill into a directory of their own until they were
// read. The directory goes with remove, which is never nil.
func (h *handler) receive(q *importQuery) (files []inquiry.DeliveredFile, remove func(), err error) {
	var open []*os.File
	dir, err := os.MkdirTemp(h.TempDir, "gputally-bill-")
	if err != nil {
		return nil, func() {}, fmt.Errorf("receive bill: %w", err)
	}
	remove = func() {
		for _, f := range open {
			_ = f.Close() // it was only read since it was written
		}
		if err := os.RemoveAll(dir); err != nil {
			h.Log.Warn("files of a bill are left behind", "error", err)
		}
	}
	q.r.Body = http.MaxBytesReader(q.w, q.r.Body, h.Limits.BillBytes)
	parts, err := q.r.MultipartReader()
	if err != nil {
		return nil, remove, problem(http.StatusBadRequest, v1.CodeUnreadable, "the body is no multipart/form-data: "+err.Error(), `send each file as a part named "file"`)
	}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, remove, h.unreceived(err)
		}
		if len(files) == h.Limits.BillFiles {
			return nil, remove, problem(http.StatusRequestEntityTooLarge, v1.CodeTooLarge, fmt.Sprintf("there are more than %d files", h.Limits.BillFiles), "put them together, or import period by period")
		}
		f, got, err := h.keep(dir, len(files), part)
		if err != nil {
			return nil, remove, err
		}
		open, files = append(open, f), append(files, got)
	}
	if len(files) == 0 {
		return nil, remove, invalid(v1.FieldError{Field: "file", Detail: "no file came: send each as a part named \"file\""})
	}
	return files, remove, nil
}

// keep writes one part to a file. Its name is only told on, never used as a path.
func (h *handler) keep(dir string, n int, part *multipart.Part) (*os.File, inquiry.DeliveredFile, error) {
	got := inquiry.DeliveredFile{Name: part.FileName()}
	if part.FormName() != "file" || got.Name == "" {
		return nil, got, invalid(v1.FieldError{Field: part.FormName(), Detail: `each part is a file with a name, in a field named "file"`})
	}
	f, err := os.OpenFile(filepath.Join(dir, fmt.Sprint(n)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, got, fmt.Errorf("receive bill: %w", err)
	}
	if got.Size, err = io.Copy(f, part); err != nil {
		return nil, got, errors.Join(h.unreceived(err), f.Close())
	}
	got.Data = f
	return f, got, nil
}

// unreceived says why a body ended early.
func (h *handler) unreceived(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		return problem(http.StatusRequestEntityTooLarge, v1.CodeTooLarge, fmt.Sprintf("the files have more than %d bytes together", large.Limit), "import period by period, or as Parquet")
	}
	var disk *os.PathError
	if errors.As(err, &disk) {
		return fmt.Errorf("receive bill: %w", err)
	}
	return problem(http.StatusBadRequest, v1.CodeUnreadable, "the body ended early: "+err.Error(), "send it again")
}
