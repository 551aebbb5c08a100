// SPDX-License-Identifier: Apache-2.0

package termview

import (
	"context"
	"errors"
	"fmt"
	"io"

	tea "charm.land/bubbletea/v2"
)

// Screen is what stands on the terminal. Its methods are called one at a time.
type Screen interface {
	// Frame is the whole picture for a size in columns and lines.
	Frame(width, height int) [][]Span
	// Key takes a key by name ("s", "up", "enter", "space") with the text it
	// types, and reports whether to leave.
	Key(name, text string) (quit bool)
}

// Options are how to show a screen.
type Options struct {
	In     io.Reader
	Out    io.Writer
	Colour bool
	// Updates change the screen; each is called between two frames.
	Updates <-chan func()
}

// Run shows a screen until a key leaves it or ctx ends.
func Run(ctx context.Context, s Screen, o Options) error {
	p := tea.NewProgram(&program{screen: s, options: o}, tea.WithContext(ctx), tea.WithInput(o.In), tea.WithOutput(o.Out))
	stop := make(chan struct{})
	defer close(stop)
	go forward(p, o.Updates, stop)
	_, err := p.Run()
	switch {
	case err == nil, errors.Is(err, tea.ErrInterrupted), ctx.Err() != nil:
		return nil
	}
	return fmt.Errorf("show the terminal view: %w", err)
}

// forward hands updates to the program's own goroutine.
func forward(p *tea.Program, updates <-chan func(), stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case u, ok := <-updates:
			if !ok {
				return
			}
			p.Send(update(u))
		}
	}
}

type update func()

// program is the Screen as bubbletea wants it.
type program struct {
	screen        Screen
	options       Options
	width, height int
}

func (p *program) Init() tea.Cmd { return nil }

func (p *program) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch m := msg.(type) {
	case update:
		m()
	case tea.WindowSizeMsg:
		p.width, p.height = m.Width, m.Height
	case tea.KeyPressMsg:
		if p.screen.Key(m.String(), m.Key().Text) {
			return p, tea.Quit
		}
	}
	return p, nil
}

func (p *program) View() tea.View {
	text := ""
	if p.width > 0 {
		text = Paint(p.screen.Frame(p.width, p.height), p.options.Colour)
	}
	v := tea.NewView(text)
	v.AltScreen = true
	v.WindowTitle = "gputally top"
	return v
}
