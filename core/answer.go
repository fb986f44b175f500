package core

import (
	"context"
	"io"
	"slices"
	"strings"
	"sync"
)

// Answer is what one run says: written by one, read by any number, each at its own pace. The zero Answer is ready
// for use. Reading and writing cost the same however long it is.
type Answer struct {
	mu      sync.Mutex
	at      Cursor
	segs    []*segment
	open    map[key]*segment
	log     []entry // in order of end; neighbouring text of one segment is one entry
	history []string
	outcome Outcome
	lost    bool
	changed chan struct{} // made by who waits, closed by the next change
	ended   chan struct{}
}

// key finds the segment that a change belongs to.
type key struct {
	step int
	call string
}

type segment struct {
	key
	tool  Tool
	text  strings.Builder // of a step: only grows, so that a string taken from it stays good
	said  string          // of a call
	first Cursor          // the first and the newest callback in the log: the two that a slow reader gets
	last  Cursor
}

// entry is a change in the log. Text and callbacks are looked up in the segment when they are read.
type entry struct {
	end    Cursor
	from   int // text: offset in its segment
	n      int
	seg    *segment
	change Change
}

// Apply makes a change visible. It never blocks, ignores what it has already, and everything after the end.
func (a *Answer) Apply(c Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.End == 0 {
		c.End = a.at + c.size()
	}
	if c.End <= a.at || a.outcome.Done() || a.lost || !c.valid() {
		return
	}
	if have := c.End - c.size(); c.Kind == Text && have < a.at { // heard twice in part
		c.Text = c.Text[a.at-have:]
	}
	a.apply(c)
	a.at = c.End
	a.wakeLocked()
}

// End is the last change. It adds no text.
func (a *Answer) End(o Outcome) { a.Apply(Change{Kind: Ended, Outcome: &o}) }

// Abandon says that the answer goes on elsewhere, as another Answer: Wait fails with [ErrLost] from now on. It does
// nothing to an answer that has ended.
func (a *Answer) Abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.outcome.Done() && !a.lost {
		a.lost = true
		a.wakeLocked()
	}
}

func (a *Answer) wakeLocked() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

func (a *Answer) apply(c Change) {
	switch c.Kind {
	case Text:
		a.grow(a.segment(key{step: c.Step}), c)
	case Callback:
		a.replace(a.segment(key{call: c.Call}), c)
	case ToolStage:
		s := a.segment(key{call: c.Call})
		s.tool = *c.Tool
		a.log = append(a.log, entry{end: c.End, seg: s, change: c})
	case Ended:
		a.outcome = *c.Outcome
		a.log = append(a.log, entry{end: c.End, change: c})
		close(a.endedLocked())
	}
}

func (a *Answer) segment(k key) *segment {
	if s := a.open[k]; s != nil {
		return s
	}
	if a.open == nil {
		a.open = map[key]*segment{}
	}
	s := &segment{key: k}
	a.open[k] = s
	a.segs = append(a.segs, s)
	return s
}

func (a *Answer) grow(s *segment, c Change) {
	from := s.text.Len()
	s.text.WriteString(c.Text)
	if l := len(a.log) - 1; l >= 0 && a.log[l].seg == s && a.log[l].change.Kind == Text && a.log[l].end+c.size() == c.End {
		a.log[l].n += len(c.Text) // only where no dropped callback lies between: there cursors count one more
		a.log[l].end = c.End
		return
	}
	a.log = append(a.log, entry{end: c.End, from: from, n: len(c.Text), seg: s, change: Change{Kind: Text, Step: c.Step}})
}

// replace drops the callback that c makes old, except the first: that one keeps the segment's place.
func (a *Answer) replace(s *segment, c Change) {
	if s.last > s.first {
		i := a.after(s.last - 1)
		a.log = slices.Delete(a.log, i, i+1)
	}
	s.said, s.last = c.Text, c.End
	if s.first == 0 {
		s.first = c.End
	}
	a.log = append(a.log, entry{end: c.End, seg: s, change: Change{Kind: Callback, Call: c.Call}})
	if said := strings.TrimSpace(c.Text); said != "" && (len(a.history) == 0 || a.history[len(a.history)-1] != said) {
		a.history = append(a.history, said)
	}
}

// after finds the first entry that ends after at.
func (a *Answer) after(at Cursor) int {
	i, _ := slices.BinarySearchFunc(a.log, at, func(e entry, at Cursor) int {
		if e.end <= at {
			return -1
		}
		return 1
	})
	return i
}

// Since returns what changed after at, in order, and the cursor to go on from. Neighbouring text is joined, of each
// call only the place and the newest callback are given, and nothing else is left out. A reader who comes from another
// replica may be ahead of this one: it gets nothing until that has caught up.
func (a *Answer) Since(at Cursor) ([]Change, Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sinceLocked(at), max(at, a.at)
}

// Read returns what changed after at, and the whole at the same moment, for readers that need both.
func (a *Answer) Read(at Cursor) ([]Change, View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sinceLocked(at), a.viewLocked()
}

func (a *Answer) sinceLocked(at Cursor) []Change {
	var out []Change
	for _, e := range a.log[a.after(at):] {
		c := e.change
		c.End = e.end
		switch c.Kind {
		case Text:
			skip := 0
			if begin := e.end - Cursor(e.n); at > begin {
				skip = int(at - begin)
			}
			c.Text = e.seg.text.String()[e.from+skip : e.from+e.n]
		case Callback:
			c.Text = e.seg.said
		}
		out = append(out, c)
	}
	return out
}

// View returns the whole. Its cost is that of the segments, not of their text.
func (a *Answer) View() View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.viewLocked()
}

func (a *Answer) viewLocked() View {
	v := View{At: a.at, History: slices.Clip(a.history), Outcome: a.outcome}
	for _, s := range a.segs {
		if s.call != "" {
			v.Segments = append(v.Segments, Segment{s.call, s.tool, s.said})
		} else {
			v.Segments = append(v.Segments, Segment{Text: s.text.String()})
		}
	}
	return v
}

// Wait returns nil when something is newer than at, io.EOF if nothing ever will be, [ErrLost] if the answer was
// abandoned, and the context's cause if that is done.
func (a *Answer) Wait(ctx context.Context, at Cursor) error {
	a.mu.Lock()
	switch {
	case a.lost:
		a.mu.Unlock()
		return ErrLost
	case a.at > at:
		a.mu.Unlock()
		return nil
	case a.outcome.Done():
		a.mu.Unlock()
		return io.EOF
	}
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	changed := a.changed
	a.mu.Unlock()
	select {
	case <-changed:
		return a.afterChange()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (a *Answer) afterChange() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost {
		return ErrLost
	}
	return nil
}

// Ended is closed by End.
func (a *Answer) Ended() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.endedLocked()
}

func (a *Answer) endedLocked() chan struct{} {
	if a.ended == nil {
		a.ended = make(chan struct{})
	}
	return a.ended
}
