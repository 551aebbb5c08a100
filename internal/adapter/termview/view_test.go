// SPDX-License-Identifier: Apache-2.0

package termview

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
)

// screen notes what it is asked.
type screen struct {
	keys []string
	size string
	text string
}

func (s *screen) Frame(width, height int) [][]Span {
	s.size = fmt.Sprint(width, "x", height)
	return [][]Span{{{Text: s.text, Role: "alert"}}, {{Text: "plain"}}}
}

func (s *screen) Key(name, text string) bool {
	s.keys = append(s.keys, name+"="+text)
	return name == "q"
}

// TestProgram: sizes, keys and updates reach the screen, one after the other.
func TestProgram(t *testing.T) {
	s := &screen{text: "before"}
	p := &program{screen: s, options: Options{}}
	if got := p.View().Content; got != "" {
		t.Errorf("drawn before the size is known: %q", got)
	}
	p.Update(tea.WindowSizeMsg{Width: 80, Height: 24})
	p.Update(update(func() { s.text = "after" }))
	if got := p.View().Content; got != "after\nplain" || s.size != "80x24" {
		t.Errorf("drew %q at %s", got, s.size)
	}
	for _, k := range []tea.KeyPressMsg{
		{Code: 's', Text: "s"}, {Code: tea.KeyUp}, {Code: tea.KeyEnter}, {Code: tea.KeySpace, Text: " "}, {Code: tea.KeyPgDown}, {Code: tea.KeyBackspace},
	} {
		if _, cmd := p.Update(k); cmd != nil {
			t.Errorf("%s leaves", k)
		}
	}
	if got, want := strings.Join(s.keys, " "), "s=s up= enter= space=  pgdown= backspace="; got != want {
		t.Errorf("keys %q, want %q", got, want)
	}
	if _, cmd := p.Update(tea.KeyPressMsg{Code: 'q', Text: "q"}); cmd == nil {
		t.Error("q does not leave")
	}
}

// TestRun: the real program loop draws what an update changed, and ends with
// its context.
func TestRun(t *testing.T) {
	var out bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	updates := make(chan func())
	s := &screen{text: "before"}
	ended := make(chan error, 1)
	in := pipe{make(chan struct{})}
	defer close(in.closed)
	go func() { ended <- Run(ctx, s, Options{In: in, Out: &out, Updates: updates}) }()
	updates <- func() { s.text = "after" }
	updates <- func() {} // the first one was taken
	cancel()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Fatal("Run does not end with its context")
	}
	if s.text != "after" {
		t.Error("the update was not made")
	}
}

// pipe is an input on which nobody types.
type pipe struct{ closed chan struct{} }

func (p pipe) Read([]byte) (int, error) {
	<-p.closed
	return 0, errors.New("closed")
}

func TestPaint(t *testing.T) {
	lines := [][]Span{{{Text: "a", Role: "mark-owner3"}, {Text: "b  "}}, {{Text: "LEAK", Role: "alert"}, {Text: "?", Role: "no such role"}}}
	if got, want := Paint(lines, false), "ab\nLEAK?"; got != want {
		t.Errorf("without colour %q, want %q", got, want)
	}
	coloured := Paint(lines, true)
	if !strings.Contains(coloured, "\x1b[") {
		t.Errorf("no colour in %q", coloured)
	}
	for _, role := range []string{"dim", "bold", "title", "alert", "warning", "good", "overhead", "other", "owner0", "owner9", "mark-dim", "mark-other"} {
		if _, ok := styles[role]; !ok {
			t.Errorf("role %s has no look", role)
		}
	}
}
