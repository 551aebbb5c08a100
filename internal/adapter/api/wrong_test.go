// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gputally/gputally/internal/adapter/api"
	"github.com/gputally/gputally/internal/adapter/api/client"
	v1 "github.com/gputally/gputally/internal/adapter/api/v1"
	"github.com/gputally/gputally/internal/core/access"
	"github.com/gputally/gputally/internal/core/inquiry"
	"github.com/gputally/gputally/internal/core/journal"
	"github.com/gputally/gputally/internal/core/report"
)

func problemOf(t *testing.T, resp *http.Response) v1.Problem {
	t.Helper()
	var p v1.Problem
	if got := resp.Header.Get("Content-Type"); got != v1.ProblemType {
		t.Errorf("%s has the type %q", resp.Request.URL, got)
	}
	if err := json.NewDecoder(resp.Body).Decode(&p); err != nil {
		t.Fatal(err)
	}
	if p.Status != resp.StatusCode || p.Title != http.StatusText(resp.StatusCode) || p.Type != "about:blank" {
		t.Errorf("%s: %s and %+v", resp.Request.URL, resp.Status, p)
	}
	return p
}

// TestProblems: what is wrong with a question is said by status, code, parameter
// and, where words are asked for, what may stand there.
func TestProblems(t *testing.T) {
	s, _ := serve(t, readOnly(t), nil)
	for _, x := range []struct {
		path, code, field, says string
		status                  int
	}{
		{"/report", "invalid_parameter", "from", "give a time", 422},
		{"/report?month=2026-11&by=nose", "invalid_parameter", "by[0]", "none of the words", 422},
		{"/report?month=2026-11&bye=namespace", "invalid_parameter", "bye", "unknown query parameter", 422},
		{"/report?month=2026-11&where=namespace", "invalid_parameter", "where[0]", "DIMENSION=VALUE", 422},
		{"/report?month=2026-11&where=day=x", "invalid_parameter", "where[0].by", "a time is chosen by", 422},
		{"/report?month=2026-11&from=2026-11-01", "invalid_parameter", "month", "give one of them", 422},
		{"/report?month=2026-11&view=sideways", "invalid_parameter", "view", "none of the words", 422},
		{"/report?month=2026-11&top=-1", "invalid_parameter", "top", "", 422},
		{"/report?from=yesterday", "invalid_parameter", "from", "write a time as", 422},
		{"/report?from=2026-11-03T00:30:00Z", "invalid_parameter", "from", "write a whole hour", 422},
		{"/report?from=2026-11-03&to=2026-11-02", "invalid_parameter", "from", "not before to", 422},
		{"/report?from=1969-01-01", "invalid_parameter", "from", "after 1970", 422},
		{"/lines?month=2026-11&cursor=nonsense", "invalid_parameter", "cursor", "give the next", 422},
		{"/lines?month=2026-11&limit=0", "invalid_parameter", "limit", "", 422},
		{"/lines/nothing", "not_found", "", "there is no line nothing", 404},
		{"/explanation?month=2026-11", "invalid_parameter", "line", "exactly one", 422},
		{"/explanation?pod=train-0&month=2026-11", "invalid_parameter", "pod", "NAMESPACE/NAME", 422},
		{"/nodes/none/price", "not_found", "", "there is no node none", 404},
		{"/months/November", "invalid_parameter", "month", "", 422},
		{"/months/2020-01", "not_found", "", "there is no month", 404},
		{"/export?month=2026-11&kind=focus&format=jsonl", "invalid_parameter", "format", "csv or parquet", 422},
		{"/checks/months?month=2026-99", "invalid_parameter", "month", "write a month", 422},
		{"/nowhere", "no_such_path", "", "there is no path", 404},
	} {
		t.Run(x.path, func(t *testing.T) {
			resp := get(t, s.URL+api.Prefix+x.path)
			p := problemOf(t, resp)
			if p.Status != x.status || p.Code != x.code || !strings.Contains(p.Detail, x.says) {
				t.Errorf("%+v", p)
			}
			switch {
			case x.field != "" && (len(p.Errors) == 0 || p.Errors[0].Field != x.field):
				t.Errorf("errors %+v, want one of %s", p.Errors, x.field)
			case strings.Contains(x.says, "none of the words") && len(p.Errors[0].Allowed) < 2:
				t.Errorf("what may stand there is not said: %+v", p.Errors)
			}
		})
	}
}

func TestWrongMethod(t *testing.T) {
	s, _ := serve(t, readOnly(t), nil)
	resp, err := http.Post(s.URL+api.Prefix+"/report", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if p := problemOf(t, resp); p.Code != "method_not_allowed" || !strings.Contains(resp.Header.Get("Allow"), "GET") {
		t.Errorf("%+v, Allow %q", p, resp.Header.Get("Allow"))
	}
}

// TestBodies: a body that is no JSON, has a field that nobody knows, or is too
// large.
func TestBodies(t *testing.T) {
	s, _ := serve(t, readOnly(t), func(o *api.Options) { o.Limits.BodyBytes = 1000 })
	for body, code := range map[string]string{
		`{`: "body_unreadable", `{"currency":"USD","by":"ada","forced":"yes"}`: "invalid_parameter", `{"currency":"usd","by":"ada"}`: "invalid_parameter",
		`{"currency":"USD"}`: "invalid_parameter", `{"currency":"USD","by":"` + strings.Repeat("a", 2000) + `"}`: "too_large",
	} {
		resp, err := http.Post(s.URL+api.Prefix+"/months/2026-11/close", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if p := problemOf(t, resp); p.Code != code {
			t.Errorf("%.60s: %+v, want %s", body, p, code)
		}
		_ = resp.Body.Close()
	}
}

// roles lets a reader ask and a writer do all, and cannot say anything of one.
type roles struct{}

func (roles) Authorize(r *http.Request, change bool) (string, error) {
	switch r.Header.Get("Authorization") {
	case "Bearer writer":
		return "ada", nil
	case "Bearer reader":
		if !change {
			return "bob", nil
		}
		return "", &access.Denied{Known: true, Why: "may read only", Hint: "ask finance"}
	case "Bearer doubtful":
		return "", &journal.Busy{After: 4 * time.Second, Why: "nobody can be asked"}
	}
	return "", &access.Denied{Why: "the token is none of the server's", Hint: "give another"}
}

// TestRoles: who may read may not change anything; who may change may read.
func TestRoles(t *testing.T) {
	s, _ := serve(t, readOnly(t), func(o *api.Options) { o.Auth = roles{} })
	ask := func(method, path, who string) int {
		r, err := http.NewRequest(method, s.URL+api.Prefix+path, strings.NewReader(`{"name":"x"}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		if who != "" {
			r.Header.Set("Authorization", "Bearer "+who)
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode == http.StatusUnauthorized && resp.Header.Get("WWW-Authenticate") == "" {
			t.Error("401 without WWW-Authenticate")
		}
		if resp.StatusCode == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") != "4" {
			t.Errorf("503 with Retry-After %q", resp.Header.Get("Retry-After"))
		}
		if resp.StatusCode >= 400 {
			if p := problemOf(t, resp); p.Code == "" || p.Detail == "" || p.Hint == "" {
				t.Errorf("%s %s by %q: %+v", method, path, who, p)
			}
		}
		return resp.StatusCode
	}
	for _, x := range []struct {
		method, path, who string
		want              int
	}{
		{"GET", "/status", "", 401}, {"GET", "/status", "stranger", 401}, {"GET", "/status", "reader", 200}, {"GET", "/status", "writer", 200},
		{"POST", "/backups", "", 401}, {"POST", "/backups", "stranger", 401}, {"POST", "/backups", "reader", 403}, {"POST", "/backups", "writer", 200},
		{"GET", "/status", "doubtful", 503}, {"POST", "/backups", "doubtful", 503},
		{"GET", "/checks/ledger", "", 401}, {"GET", "/export?month=2026-11", "stranger", 401},
	} {
		if got := ask(x.method, x.path, x.who); got != x.want {
			t.Errorf("%s %s by %q: %d, want %d", x.method, x.path, x.who, got, x.want)
		}
	}
}

// TestSigned: the trail names who the server knows somebody to be, and what they
// say behind that; where it knows nobody, what they say.
func TestSigned(t *testing.T) {
	for _, x := range []struct {
		auth       api.Auth
		said, want string
	}{
		{nil, "bob", "bob"}, {roles{}, "bob", "ada for bob"}, {roles{}, "ada", "ada"},
	} {
		s, _ := serve(t, ledgerOfItsOwn(t), func(o *api.Options) { o.Auth = x.auth })
		body := fmt.Sprintf(`{"currency":"EUR","by":%q,"force":"no price"}`, x.said)
		r, err := http.NewRequest(http.MethodPost, s.URL+api.Prefix+"/months/2026-11/close", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer writer")
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var m v1.Month
		if err := json.NewDecoder(resp.Body).Decode(&m); err != nil || m.Closing == nil || m.Closing.By != x.want {
			t.Errorf("%q closes: %d %+v %v, want by %q", x.said, resp.StatusCode, m.Closing, err, x.want)
		}
		_ = resp.Body.Close()
	}
}

// faulty is books that fail in a way of their own.
type faulty struct {
	api.Books
	err   error
	wrote int
	enter chan struct{}
	leave chan struct{}
}

func (f *faulty) Report(context.Context, report.Spec) (report.Report, error) {
	if f.enter != nil {
		f.enter <- struct{}{}
		<-f.leave
	}
	return report.Report{}, f.err
}

func (f *faulty) Export(_ context.Context, _ inquiry.ExportRequest, w io.Writer) (inquiry.Exported, error) {
	if f.wrote > 0 {
		if _, err := w.Write(bytes.Repeat([]byte("x,y\n"), f.wrote)); err != nil {
			return inquiry.Exported{}, err
		}
	}
	return inquiry.Exported{}, f.err
}

func (f *faulty) CheckLedger(_ context.Context, _ inquiry.CheckRequest, progress func(inquiry.Progress)) (inquiry.Checked, error) {
	for i := range f.wrote {
		progress(inquiry.Progress{Stage: "check", Done: int64(i), Total: int64(f.wrote)})
	}
	return inquiry.Checked{}, f.err
}

func (f *faulty) Status(context.Context) (inquiry.Status, error) { panic("nobody expects this") }

// TestFaultsOfTheServer: each form of error has its status, and one without a form
// is the server's own fault.
func TestFaultsOfTheServer(t *testing.T) {
	for _, x := range []struct {
		err    error
		status int
		code   string
	}{
		{errors.New("the disk is on fire"), 500, "internal"},
		{fmt.Errorf("wrapped: %w", &inquiry.Refused{Code: "hours_missing", Why: "no", Hint: "rate them"}), 409, "hours_missing"},
		{&inquiry.Refused{Why: "no"}, 409, "refused"},
		{&inquiry.Wrong{Field: "files", Why: "row 3", Value: "x"}, 422, "invalid_parameter"},
		{&journal.Busy{After: 90 * time.Second, Why: "later"}, 503, "busy"},
		{context.DeadlineExceeded, 503, "busy"},
	} {
		s, c := serve(t, &faulty{Books: readOnly(t), err: x.err}, nil)
		resp := get(t, s.URL+api.Prefix+"/report?month=2026-11")
		if p := problemOf(t, resp); p.Status != x.status || p.Code != x.code {
			t.Errorf("%v: %+v", x.err, p)
		}
		var busy *journal.Busy
		if errors.As(x.err, &busy) && resp.Header.Get("Retry-After") != "90" {
			t.Errorf("Retry-After is %q", resp.Header.Get("Retry-After"))
		}
		var p *v1.Problem
		if _, err := c.CheckLedger(t.Context(), client.Span{}, false, nil); !errors.As(err, &p) || p.Status != x.status {
			t.Errorf("a check that fails before it began: %v", err)
		}
	}
	s, _ := serve(t, &faulty{Books: readOnly(t)}, nil)
	if p := problemOf(t, get(t, s.URL+api.Prefix+"/status")); p.Code != "internal" {
		t.Errorf("a panic: %+v", p)
	}
}

// TestAnswersThatBreakOff: a client never takes a part for the whole.
func TestAnswersThatBreakOff(t *testing.T) {
	_, c := serve(t, &faulty{Books: readOnly(t), err: errors.New("the disk is on fire"), wrote: 100_000}, nil)
	var got bytes.Buffer
	var broken *client.Unreachable
	if _, _, err := c.Export(t.Context(), client.ExportQuery{Span: month}, &got); !errors.As(err, &broken) || got.Len() == 0 {
		t.Errorf("an export that fails under way: %d bytes, %v", got.Len(), err)
	}
	var p *v1.Problem
	told := 0
	if _, err := c.CheckLedger(t.Context(), client.Span{}, false, func(v1.Progress) { told++ }); !errors.As(err, &p) || p.Code != "internal" || told == 0 {
		t.Errorf("a check that fails under way: %v after %d words", err, told)
	}
}

// askReport tells the status of a report's answer, 0 where there is none.
func askReport(server string, done chan<- int) {
	resp, err := http.Get(server + api.Prefix + "/report?month=2026-11")
	if err != nil {
		done <- 0
		return
	}
	_ = resp.Body.Close()
	done <- resp.StatusCode
}

// TestCrowd: beyond the limit, requests are told to come again; when one ends, the
// next gets in.
func TestCrowd(t *testing.T) {
	f := &faulty{Books: readOnly(t), enter: make(chan struct{}), leave: make(chan struct{})}
	s, _ := serve(t, f, func(o *api.Options) { o.Limits.AtOnce, o.Limits.Patience = 1, time.Millisecond })
	done := make(chan int)
	go askReport(s.URL, done)
	<-f.enter
	resp := get(t, s.URL+api.Prefix+"/report?month=2026-11")
	if p := problemOf(t, resp); p.Code != "busy" || resp.Header.Get("Retry-After") == "" {
		t.Errorf("%+v", p)
	}
	f.leave <- struct{}{}
	if got := <-done; got != 200 {
		t.Errorf("the first got %d", got)
	}
	go askReport(s.URL, done)
	<-f.enter
	f.leave <- struct{}{}
	if got := <-done; got != 200 {
		t.Errorf("after the first, one got %d", got)
	}
}

// TestCrowdWaits: requests beyond what the server works on wait for their turn.
func TestCrowdWaits(t *testing.T) {
	const many = 12
	f := &faulty{Books: readOnly(t), enter: make(chan struct{}), leave: make(chan struct{})}
	s, _ := serve(t, f, func(o *api.Options) { o.Limits.AtOnce, o.Limits.Patience = 2, time.Hour })
	done := make(chan int, many)
	for range many {
		go askReport(s.URL, done)
	}
	for range many {
		<-f.enter
		f.leave <- struct{}{}
	}
	for range many {
		if got := <-done; got != 200 {
			t.Errorf("one got %d", got)
		}
	}
}

func TestTooManyRows(t *testing.T) {
	s, _ := serve(t, readOnly(t), func(o *api.Options) { o.Limits.Rows = 3 })
	if p := problemOf(t, get(t, s.URL+api.Prefix+"/report?month=2026-11&by=pod,hour")); p.Code != "too_many_rows" {
		t.Errorf("%+v", p)
	}
}

// TestUploads: what is no upload, has no file, or too much of it.
func TestUploads(t *testing.T) {
	s, _ := serve(t, readOnly(t), func(o *api.Options) { o.Limits.BillBytes, o.Limits.BillFiles = 4000, 2 })
	form := func(fill func(*multipart.Writer)) (string, io.Reader) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		fill(w)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return w.FormDataContentType(), &b
	}
	file := func(w *multipart.Writer, field, name string, n int) {
		p, err := w.CreateFormFile(field, name)
		if err == nil {
			_, err = p.Write(bytes.Repeat([]byte("x\n1\n"), n))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, x := range map[string]struct {
		fill func(*multipart.Writer)
		code string
	}{
		"no file":       {func(*multipart.Writer) {}, "invalid_parameter"},
		"another field": {func(w *multipart.Writer) { file(w, "bill", "a.csv", 1) }, "invalid_parameter"},
		"too large":     {func(w *multipart.Writer) { file(w, "file", "a.csv", 5000) }, "too_large"},
		"too many":      {func(w *multipart.Writer) { file(w, "file", "a", 1); file(w, "file", "b", 1); file(w, "file", "c", 1) }, "too_large"},
		"not of a bill": {func(w *multipart.Writer) { file(w, "file", "../../a.csv", 10) }, "invalid_parameter"},
	} {
		kind, body := form(x.fill)
		resp, err := http.Post(s.URL+api.Prefix+"/bills?source=aws", kind, body)
		if err != nil {
			t.Fatal(err)
		}
		if p := problemOf(t, resp); p.Code != x.code {
			t.Errorf("%s: %+v", name, p)
		}
		_ = resp.Body.Close()
	}
	resp, err := http.Post(s.URL+api.Prefix+"/bills?source=aws", "text/csv", strings.NewReader("a,b"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if p := problemOf(t, resp); p.Code != "body_unreadable" {
		t.Errorf("%+v", p)
	}
}
