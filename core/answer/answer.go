// Package answer defines a run's output as a versioned value: an ordered list of segments with one writer and any
// number of readers, each with its own cursor. Writers never wait for readers.
package answer

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"parley/core/llm"
)

// Answer is the output of one run, with one writer and any number of readers, each at its own pace. The zero Answer is
// ready for use. The cost of reading and writing does not depend on its length.
type Answer struct {
	mu        sync.Mutex
	at        Cursor
	segs      []*segment
	open      map[key]*segment
	log       []entry // by End; adjacent text of one segment is one entry
	history   callbackHistory
	important []string
	offer     *Choices
	chosen    *Choices
	outcome   Outcome
	thinking  bool
	reasoning strings.Builder
	lost      bool
	seen      seen
	first     time.Time // of the first text
	changed   Signal    // of the next change
	ended     chan struct{}
}

// Apply adds a change to the answer. It never blocks. Changes that are already present, or come after the end, are
// ignored.
func (a *Answer) Apply(c Change) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.End == 0 {
		if c.Kind == Thinking && a.thinking {
			return
		}
		c.End = a.at + c.size()
	}
	if c.End <= a.at || a.outcome.Done() || a.lost || !c.valid() {
		return
	}
	if have := c.End - c.size(); have < a.at { // overlaps with existing changes
		c = c.from(int(a.at - have))
	}
	a.apply(c)
	a.at = c.End
	a.changed.Notify()
}

// FirstText returns when the first text was added; zero if there is none.
func (a *Answer) FirstText() time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.first
}

// End applies the last change. It adds no text.
func (a *Answer) End(o Outcome) { a.Apply(Change{Kind: Ended, Outcome: &o}) }

// Abandon declares that the answer continues elsewhere, as another Answer: from now on Wait fails with [ErrLost]. It
// has no effect on an answer that has ended.
func (a *Answer) Abandon() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.outcome.Done() && !a.lost {
		a.lost = true
		a.changed.Notify()
	}
}

func (a *Answer) apply(c Change) {
	a.thinking = c.Kind == Thinking || c.Kind == Reasoning
	switch s := a.segment(c); c.Kind {
	case Text:
		if a.first.IsZero() {
			a.first = time.Now()
		}
		a.grow(entry{end: c.End, seg: s, grown: s.text, change: Change{Kind: Text, Step: c.Step, Call: c.Call, Notice: c.Notice}}, c.Text)
		if c.Call != "" {
			a.history.add(c.Text)
		}
	case Thinking:
		a.log = append(a.log, entry{end: c.End, change: c})
	case Reasoning:
		a.grow(entry{end: c.End, grown: &a.reasoning, change: Change{Kind: Reasoning}}, c.Text)
	case Withdrawn:
		a.withdraw(s, c)
	case Callback:
		a.replace(s, c)
		a.history.add(c.Text)
	case ToolStage:
		a.move(s, c)
	case ChoicesChanged:
		a.offer, a.chosen = c.Choices, c.Chosen
		a.log = append(a.log, entry{end: c.End, change: c})
	case Ended:
		a.outcome, a.offer = *c.Outcome, c.Outcome.Offer
		if c.History != nil {
			a.history = callbackHistory{texts: c.History}
		}
		a.log = append(a.log, entry{end: c.End, change: Change{Kind: Ended, Outcome: c.Outcome}})
		close(a.endedLocked())
	}
}

// segment returns the segment that c belongs to.
func (a *Answer) segment(c Change) *segment {
	k := key{call: c.Call, notice: c.Notice}
	switch {
	case slices.Contains([]Kind{Ended, ChoicesChanged, Thinking, Reasoning}, c.Kind):
		return nil
	case c.Call == "":
		k.step = c.Step
	}
	if s := a.open[k]; s != nil {
		return s
	}
	if a.open == nil {
		a.open = map[key]*segment{}
	}
	s := &segment{key: k, text: &strings.Builder{}, below: c.Below}
	a.open[k] = s
	at := len(a.segs)
	for !s.below && at > 0 && a.segs[at-1].below {
		at--
	}
	a.segs = slices.Insert(a.segs, at, s)
	return s
}

// grow appends text to the builder of e, and extends the newest entry if that has the same builder.
func (a *Answer) grow(e entry, text string) {
	e.from, e.n = e.grown.Len(), len(text)
	e.grown.WriteString(text)
	if l := len(a.log) - 1; l >= 0 && a.log[l].grown == e.grown && a.log[l].end+Cursor(e.n) == e.end {
		a.log[l].n += e.n // only without a dropped callback in between: there the cursors have a gap
		a.log[l].end = e.end
		return
	}
	a.log = append(a.log, e)
}

// move advances a call to another stage.
func (a *Answer) move(s *segment, c Change) {
	t := *c.Tool
	if t.Stage == StageStreaming {
		s.tool = Tool{Name: t.Name, Label: t.Label, Hidden: t.Hidden, Stage: t.Stage, CompactParams: t.CompactParams, Worded: t.Worded}
		a.grow(entry{end: c.End, seg: s, grown: &s.parameters, change: Change{Kind: ToolStage, Call: c.Call}}, t.ParametersChunk)
		s.tool.Parameters = s.parameters.String()
		return
	}
	s.tool = t
	if c.Files != nil {
		s.files = c.Files
	}
	a.log = append(a.log, entry{end: c.End, seg: s, change: c})
}

// replace drops entries that c makes obsolete: earlier output of the call, except its first callback, which keeps its
// position, and important updates.
func (a *Answer) replace(s *segment, c Change) {
	if s.first == 0 {
		s.first = c.End
	} else {
		i := a.after(max(s.first, s.last-1))
		a.log = append(a.log[:i], slices.DeleteFunc(a.log[i:], func(e entry) bool { return e.seg == s && e.change.Kind != ToolStage && e.change.Important == "" })...)
	}
	s.text = &strings.Builder{}
	s.text.WriteString(c.Text)
	s.said, s.brought, s.files, s.last = c.Text, c.Files, c.Files, c.End
	a.log = append(a.log, entry{end: c.End, seg: s, change: Change{Kind: Callback, Call: c.Call, Important: c.Important, Below: s.below}})
	if c.Important != "" && len(a.important) < mostImportant {
		a.important = append(a.important, c.Important)
	}
}

// withdraw removes the text of a step. Readers that have none of it get none.
func (a *Answer) withdraw(s *segment, c Change) {
	a.log = slices.DeleteFunc(a.log, func(e entry) bool { return e.seg == s })
	a.segs = slices.DeleteFunc(a.segs, func(of *segment) bool { return of == s })
	delete(a.open, s.key)
	a.log = append(a.log, entry{end: c.End, change: Change{Kind: Withdrawn, Step: c.Step, Notice: c.Notice}})
}

// after returns the index of the first entry that ends after at.
func (a *Answer) after(at Cursor) int {
	i, _ := slices.BinarySearchFunc(a.log, at, func(e entry, at Cursor) int {
		if e.end <= at {
			return -1
		}
		return 1
	})
	return i
}

// Since returns the changes after at, in order, and the cursor to continue from. Adjacent pieces of text or parameters
// are joined; of a call's callbacks only the first position, the newest one and important ones are returned; nothing
// else is left out. The cursor of a reader from another replica can be ahead of this one: it gets nothing until this
// replica has caught up.
func (a *Answer) Since(at Cursor) ([]Change, Cursor) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sinceLocked(at), max(at, a.at)
}

// Read returns Since and View at the same moment, for readers that need both.
func (a *Answer) Read(at Cursor) ([]Change, View) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sinceLocked(at), a.viewLocked()
}

func (a *Answer) sinceLocked(at Cursor) []Change {
	var out []Change
	for _, e := range a.log[a.after(at):] {
		out = append(out, a.read(e, at))
	}
	return out
}

// read returns the change in e for a reader at at.
func (a *Answer) read(e entry, at Cursor) Change {
	c := e.change
	c.End = e.end
	switch {
	case e.grown != nil:
		added := e.grown.String()[e.from : e.from+e.n]
		if begin := e.end - Cursor(e.n); at > begin {
			added = added[at-begin:]
		}
		if c.Kind == Text || c.Kind == Reasoning {
			c.Text = added
		} else {
			t := e.seg.tool
			c.Tool = &Tool{Name: t.Name, Label: t.Label, Hidden: t.Hidden, Stage: StageStreaming, ParametersChunk: added, CompactParams: t.CompactParams, Worded: t.Worded}
		}
	case c.Kind == Callback:
		c.Text = e.seg.said
		if e.end == e.seg.last {
			c.Files = e.seg.brought
		}
	case c.Kind == Ended:
		c.History = a.history.list()
	}
	return c
}

// View returns the whole answer. Its cost depends on the number of segments, not on their length.
func (a *Answer) View() View {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.viewLocked()
}

func (a *Answer) viewLocked() View {
	v := View{At: a.at, History: a.history.list(), Important: slices.Clip(a.important), Choices: a.offer, Chosen: a.chosen, Outcome: a.outcome, Thinking: a.thinking}
	for _, s := range a.segs {
		v.Segments = append(v.Segments, Segment{s.call, s.tool, s.text.String(), s.files, s.notice})
	}
	return v
}

// Wait returns nil when there is a change after at, io.EOF if there never will be one, [ErrLost] if the answer was
// abandoned, and the cause of ctx if that is done.
func (a *Answer) Wait(ctx context.Context, at Cursor) error {
	for {
		changed, err := a.Changed(at)
		if err != nil || changed == nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Changed returns nil if there is a change after at, and otherwise a channel that is closed when there is one, or when
// the answer is abandoned. Errors are those of Wait.
func (a *Answer) Changed(at Cursor) (<-chan struct{}, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.lost:
		return nil, ErrLost
	case a.at > at:
		return nil, nil
	case a.outcome.Done():
		return nil, io.EOF
	}
	return a.changed.Next(), nil
}

// Ended returns a channel that is closed by End.
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

// mostImportant is the maximum number of important updates per answer on platforms that can't edit messages.
const mostImportant = 20

// key identifies the segment that a change belongs to.
type key struct {
	step   int
	call   string
	notice bool
}

type segment struct {
	key
	tool       Tool
	parameters strings.Builder  // of a call, while they are streamed
	text       *strings.Builder // the call's output; each callback starts a new builder. Strings taken from a builder stay valid
	said       string           // at the newest callback
	brought    []llm.File       // at the newest callback
	files      []llm.File       // currently shown
	first      Cursor           // the first and the newest callback in the log, which a slow reader receives
	last       Cursor
	below      bool // it stays below the others
}

// entry is a change in the log. Its content is read on demand.
type entry struct {
	end    Cursor
	grown  *strings.Builder // the builder that text or parameters were appended to, and the n bytes from there
	from   int
	n      int
	seg    *segment
	change Change
}

// structural reports whether e is more than text or parameters appended to a part that a reader at at has already begun
// to read.
func (e entry) structural(at Cursor) bool {
	begins := e.from == 0 && at <= e.end-Cursor(e.n)
	return e.grown == nil || begins || e.change.Kind == Text && e.change.Call != ""
}

// ErrLost means that another process holds the run, or has finished it.
var ErrLost = errors.New("another process holds the run")
