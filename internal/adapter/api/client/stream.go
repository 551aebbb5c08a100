// SPDX-License-Identifier: Apache-2.0

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/gputally/gputally/internal/adapter/api"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
)

// steps reads an answer that comes bit by bit.
func steps[T any](c *Client, r *http.Request, progress func(v1.Progress)) (out T, err error) {
	resp, err := c.do(r)
	if err != nil {
		return out, err
	}
	defer resp.Body.Close() // what is left of it does not matter
	for dec := json.NewDecoder(resp.Body); ; {
		var s v1.Step[T]
		if err := dec.Decode(&s); err != nil {
			return out, c.unreadable(resp, err)
		}
		switch {
		case s.Problem != nil:
			return out, s.Problem
		case s.Result != nil:
			return *s.Result, nil
		case s.Progress != nil && progress != nil:
			progress(*s.Progress)
		}
	}
}

// CheckLedger verifies the ledger, or the part of it that the time says.
// progress may be nil.
func (c *Client) CheckLedger(ctx context.Context, s Span, skipMonths bool, progress func(v1.Progress)) (out v1.Checked, err error) {
	q := s.values()
	if skipMonths {
		q.Set("skip_months", "true")
	}
	r, err := c.request(ctx, http.MethodGet, "/checks/ledger", q, nil)
	if err != nil {
		return out, err
	}
	return steps[v1.Checked](c, r, progress)
}

// CheckMonths verifies closed months: one, or all ("").
func (c *Client) CheckMonths(ctx context.Context, month string, progress func(v1.Progress)) (out v1.Verified, err error) {
	r, err := c.request(ctx, http.MethodGet, "/checks/months", Span{Month: month}.values(), nil)
	if err != nil {
		return out, err
	}
	return steps[v1.Verified](c, r, progress)
}

// WhatIf asks for a report under other rules.
func (c *Client) WhatIf(ctx context.Context, body v1.WhatIfRequest, progress func(v1.Progress)) (out v1.WhatIf, err error) {
	text, err := json.Marshal(body)
	if err != nil {
		return out, err
	}
	r, err := c.request(ctx, http.MethodPost, "/whatif", nil, bytes.NewReader(text))
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", "application/json")
	return steps[v1.WhatIf](c, r, progress)
}

// Statement copies a statement of a closed month, as it was frozen.
func (c *Client) Statement(ctx context.Context, month, set, currency, class, account string, w io.Writer) error {
	q := url.Values{"currency": {currency}, "account": {account}, "class": {class}}
	if set != "" {
		q.Set("set", set)
	}
	r, err := c.request(ctx, http.MethodGet, "/months/"+url.PathEscape(month)+"/statement", q, nil)
	if err != nil {
		return err
	}
	resp, err := c.do(r)
	if err != nil {
		return err
	}
	return c.copy(resp, w)
}

// copy copies an answer to its end, and closes it.
func (c *Client) copy(resp *http.Response, w io.Writer) error {
	defer resp.Body.Close() // read to its end, or cut off
	out := &failing{w: w}
	_, err := io.Copy(out, resp.Body)
	switch {
	case out.err != nil:
		return fmt.Errorf("write the answer: %w", out.err)
	case err != nil && isCanceled(resp.Request.Context(), err):
		return context.Canceled
	case err != nil:
		return &Unreachable{Server: c.place, Err: fmt.Errorf("its answer broke off: %w", err), Hint: "the server's log says why; what came so far is not whole"}
	}
	return nil
}

// failing tells errors of writing from those of reading.
type failing struct {
	w   io.Writer
	err error
}

// Write passes on.
func (f *failing) Write(p []byte) (n int, err error) {
	n, f.err = f.w.Write(p)
	return n, f.err
}

// ExportQuery asks for lines, usage or FOCUS as a file.
type ExportQuery struct {
	Span
	Booked       string // a month, instead of the time
	Kind, Format string
}

// Export copies an export. rows is how many it has, notes what was left out.
func (c *Client) Export(ctx context.Context, e ExportQuery, w io.Writer) (rows int64, notes string, err error) {
	q := e.Span.values()
	set(q, "booked_month", e.Booked)
	set(q, "kind", e.Kind)
	set(q, "format", e.Format)
	r, err := c.request(ctx, http.MethodGet, "/export", q, nil)
	if err != nil {
		return 0, "", err
	}
	resp, err := c.do(r)
	if err != nil {
		return 0, "", err
	}
	if err := c.copy(resp, w); err != nil {
		return 0, "", err
	}
	rows, err = strconv.ParseInt(resp.Trailer.Get(api.TrailerRows), 10, 64)
	if err != nil {
		return 0, "", &Unreachable{Server: c.place, Err: errors.New("its answer does not say how many rows there were"),
			Hint: "something between cut the end off, such as a proxy that knows no trailers; what came may not be whole"}
	}
	return rows, resp.Trailer.Get(api.TrailerNotes), nil
}

// ImportQuery asks for a bill to be imported.
type ImportQuery struct {
	Source  string
	Periods []string // months
	By      string
}

// File is one file of a bill.
type File struct {
	Name string
	Data io.Reader
}

// ImportBill sends the files of a bill. sent is told how many bytes went out so
// far; it may be nil.
func (c *Client) ImportBill(ctx context.Context, i ImportQuery, files []File, sent func(int64)) (out v1.Imported, err error) {
	q := url.Values{"source": {i.Source}}
	set(q, "period", strings.Join(i.Periods, ","))
	set(q, "by", i.By)
	body, to := io.Pipe()
	form := multipart.NewWriter(to)
	r, err := c.request(ctx, http.MethodPost, "/bills", q, body)
	if err != nil {
		return out, err
	}
	r.Header.Set("Content-Type", form.FormDataContentType())
	failed := make(chan error, 1)
	go func() {
		err := send(form, files, sent)
		failed <- err
		to.CloseWithError(err)
	}()
	out, err = answered[v1.Imported](c, r)
	_ = body.Close() // lets the sender end
	var read *readError
	if sendErr := <-failed; errors.As(sendErr, &read) {
		return out, read.err // the file, not the server
	}
	return out, err
}

// readError is an error of a file that is sent.
type readError struct{ err error }

func (e *readError) Error() string { return e.err.Error() }

func send(form *multipart.Writer, files []File, sent func(int64)) error {
	var n int64
	for _, f := range files {
		part, err := form.CreateFormFile("file", f.Name)
		if err != nil {
			return err
		}
		buffer := make([]byte, 256<<10)
		for {
			got, readErr := f.Data.Read(buffer)
			if got > 0 {
				if _, err := part.Write(buffer[:got]); err != nil {
					return err
				}
				n += int64(got)
				if sent != nil {
					sent(n)
				}
			}
			if errors.Is(readErr, io.EOF) {
				break
			}
			if readErr != nil {
				return &readError{readErr}
			}
		}
	}
	return form.Close()
}
