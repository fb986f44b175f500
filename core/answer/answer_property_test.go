package answer_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"parley/core/answer"
	"parley/core/llm"
)

func anyChange(t *rapid.T) answer.Change {
	call := rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "call")
	files := rapid.SampledFrom([][]llm.File{nil, {{Name: "a"}}, {{Name: "a"}, {Name: "b"}}}).Draw(t, "files")
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0, 1, 2:
		return textChange(rapid.IntRange(0, 2).Draw(t, "step"), rapid.StringOfN(rapid.SampledFrom([]rune("abcé😀")), 0, 4, -1).Draw(t, "text"))
	case 3, 4:
		c := said(call, rapid.StringN(0, 3, -1).Draw(t, "said"))
		c.Files = files
		c.Important = rapid.SampledFrom([]string{"", "", "mind"}).Draw(t, "important")
		return c
	case 5:
		return adds(call, rapid.StringN(0, 3, -1).Draw(t, "adds"))
	case 6:
		return streams(call, rapid.StringN(0, 3, -1).Draw(t, "chunk"))
	case 7:
		return answer.Change{Kind: answer.ChoicesChanged, Choices: rapid.SampledFrom([]*answer.Choices{nil, {ID: "1"}, {ID: "2"}}).Draw(t, "offer")}
	case 8:
		return answer.Change{Kind: answer.Withdrawn, Step: rapid.IntRange(0, 2).Draw(t, "step")}
	}
	c := stage(call, rapid.SampledFrom([]answer.Stage{answer.StageStart, answer.StageRunning, answer.StageEnd}).Draw(t, "stage"))
	c.Files = files
	return c
}

// page is a reader that trusts what it is given: it adds text, replaces what calls say, and holds nothing but a cursor.
type page struct {
	at    answer.Cursor
	segs  []answer.Segment
	index map[string]int
	chunk map[string]string // by call
	tools int
	offer *answer.Choices
	ends  []answer.Outcome
}

func (p *page) read(t *rapid.T, a *answer.Answer) {
	cs, next := a.Since(p.at)
	for _, c := range cs {
		if len(p.ends) > 0 {
			t.Fatalf("a change after the end: %+v", c)
		}
		if c.End <= p.at {
			t.Fatalf("a change that ends at %d was given to a reader at %d", c.End, p.at)
		}
		p.at = c.End
		switch s := p.segment(c); c.Kind {
		case answer.Text:
			s.Text += c.Text
		case answer.Withdrawn:
			p.withdraw(keyOf(c))
		case answer.Callback:
			s.Text, s.Files = c.Text, c.Files
		case answer.ChoicesChanged:
			p.offer = c.Choices
		case answer.ToolStage:
			if c.Files != nil {
				s.Files = c.Files
			}
			if s.Tool = *c.Tool; s.Tool.Stage != answer.StageStreaming {
				p.tools++
				continue
			}
			if p.chunk == nil {
				p.chunk = map[string]string{}
			}
			p.chunk[c.Call] += s.Tool.ParametersChunk
			s.Tool.Parameters, s.Tool.ParametersChunk = p.chunk[c.Call], ""
		case answer.Ended:
			p.ends = append(p.ends, *c.Outcome)
		}
	}
	if next != p.at {
		t.Fatalf("the last change ends at %d, reading goes on from %d", p.at, next)
	}
}

func (p *page) withdraw(key string) {
	at := p.index[key]
	p.segs = append([]answer.Segment(nil), slices.Delete(p.segs, at, at+1)...) // nil if none is left, as in a view
	delete(p.index, key)
	for k, i := range p.index {
		if i > at {
			p.index[k] = i - 1
		}
	}
}

func keyOf(c answer.Change) string { return c.Call + "/" + strings.Repeat("i", c.Step) }

func (p *page) segment(c answer.Change) *answer.Segment {
	if c.Kind == answer.Ended || c.Kind == answer.ChoicesChanged {
		return nil
	}
	if p.index == nil {
		p.index = map[string]int{}
	}
	key := keyOf(c)
	if _, ok := p.index[key]; !ok {
		p.index[key] = len(p.segs)
		p.segs = append(p.segs, answer.Segment{Call: c.Call})
	}
	return &p.segs[p.index[key]]
}

// Readers of any pace, and readers of mirrors, which hear frames late, twice, in part or not at all, all see the same
// at last: also those that change from one replica to another with nothing but their cursor.
func TestEveryReaderSeesTheSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := []*answer.Answer{{}, {}, {}} // the first is written, the others are mirrors
		pages := []*page{{}, {}, {}}
		tools := 0
		for range rapid.IntRange(0, 60).Draw(t, "length") {
			switch i := rapid.IntRange(0, 2).Draw(t, "who"); rapid.IntRange(0, 3).Draw(t, "does") {
			case 0, 1:
				c := anyChange(t)
				answers[0].Apply(c)
				if c.Kind == answer.ToolStage && c.Tool.Stage != answer.StageStreaming {
					tools++
				}
			case 2:
				hear(answers[1+i%2], answers[(2*i+2)%3], answer.Cursor(rapid.IntRange(0, 9).Draw(t, "again")), rapid.IntRange(0, 9).Draw(t, "lost"))
			case 3:
				pages[i].read(t, answers[rapid.IntRange(0, 2).Draw(t, "from")])
			}
		}
		want := answers[0].View()
		for i, p := range pages {
			if p.read(t, answers[0]); p.offer != want.Choices {
				t.Fatalf("reader %d may choose from %v; want %v", i, p.offer, want.Choices)
			}
		}
		answers[0].End(done)
		want = answers[0].View()
		for i, m := range answers[1:] {
			hear(m, answers[0], 0, -1)
			if diff := cmp.Diff(want, m.View()); diff != "" {
				t.Fatalf("mirror %d (-want +got):\n%s", i, diff)
			}
		}
		for i, p := range pages {
			p.read(t, answers[i])
			if diff := cmp.Diff(want.Segments, p.segs); diff != "" {
				t.Fatalf("reader %d (-want +got):\n%s", i, diff)
			}
			if p.tools != tools || len(p.ends) != 1 || p.ends[0] != done {
				t.Fatalf("reader %d saw %d stages of %d, and the ends %v", i, p.tools, tools, p.ends)
			}
		}
	})
}

// hear gives a mirror what another answer has, again from a little before, and sometimes loses the rest.
func hear(to, from *answer.Answer, again answer.Cursor, lost int) {
	at := to.View().At
	cs, _ := from.Since(at - min(at, again))
	for i, c := range cs {
		if i == lost {
			return
		}
		to.Apply(c)
	}
}

// Read is one moment: the changes lead to the view.
func TestReadIsAtomic(t *testing.T) {
	var a answer.Answer
	go func() {
		for range 2000 {
			a.Apply(textChange(0, "ab"))
			a.Apply(said("c", "x"))
		}
		a.End(done)
	}()
	var at answer.Cursor
	for {
		if err := a.Wait(t.Context(), at); err != nil {
			return
		}
		cs, v := a.Read(at)
		if at = cs[len(cs)-1].End; at != v.At {
			t.Fatalf("the changes end at %d, the view at %d", at, v.At)
		}
	}
}
