package terminal

import (
	"slices"
	"strings"

	"parley/core/answer"
)

// reply is what is known of an answer so far.
type reply struct {
	text  string // what grown holds: it would cost more the longer it is to make it anew for each piece
	grown strings.Builder
	calls []call
	asks  *answer.Choices // what may be chosen while it goes on
	cut   bool            // the connection broke, and is not there again
	end   *Frame

	files []File // at the end

	said string // what was typed for it while another was in the way
	note string // what became of a line that was typed while it goes on
}

// call is one use of a tool.
type call struct {
	id    string
	at    int // how many bytes of the text stand above it; some may be still to come
	last  Frame
	shown string // its parameters, for people
	files []File // that it shows now
}

// reply is m as it was when it was made.
func (m Message) reply() *reply {
	r := &reply{end: &Frame{Choices: m.Choices}}
	r.text = m.Text
	for _, t := range m.Tools {
		r.tool(t)
		r.end.Images = append(r.end.Images, t.Images...)
		r.end.Files = append(r.end.Files, t.Files...)
	}
	return r
}

// take adds what f tells.
func (r *reply) take(f Frame) {
	r.cut = f.Type == reconnecting
	switch f.Type {
	case "status":
		if f.Kind == "choices" || f.Kind == "thinking" { // which begins each stream, with nothing to choose from
			r.asks = f.Choices
		}
	case "token":
		r.say(f)
	case "tool":
		r.tool(f)
	case "done":
		if f.FullText != nil {
			r.say(Frame{FullText: f.FullText})
		}
		r.end = &f
	}
}

// say takes text: the whole if there is one, in place of what was.
func (r *reply) say(f Frame) {
	if f.FullText == nil {
		r.grown.WriteString(*f.Text)
		r.text = r.grown.String()
		return
	}
	r.grown.Reset()
	r.grown.WriteString(*f.FullText)
	r.text = r.grown.String()
}

// tool takes a call on. Its parameters are told once. A frame with files has them in place of those before, and may say nothing
// else.
func (r *reply) tool(f Frame) {
	i := slices.IndexFunc(r.calls, func(c call) bool { return c.id == f.CallID })
	if i < 0 {
		i = len(r.calls)
		r.calls = append(r.calls, call{id: f.CallID})
	}
	c := &r.calls[i]
	c.at = max(0, f.At)
	if f.Images != nil || f.Files != nil {
		c.files = f.brought()
	}
	f.raw, f.Images, f.Files = nil, nil, nil // they may be large
	if f.ToolName == "" && c.last.ToolName != "" {
		return
	}
	c.last = f
	if f.CompactParams != "" {
		c.shown = f.CompactParams
	} else if c.shown == "" {
		c.shown = strings.Trim(f.Args, "{}")
	}
}

// offer is what may be chosen now; nil if nothing.
func (r *reply) offer() *answer.Choices {
	if r.end == nil {
		return r.asks
	}
	return r.end.Choices
}

// silent says that r is what came of a line that others waited for: nothing that is to be seen.
func (r *reply) silent() bool {
	return r.said != "" && r.end != nil && r.end.Kind == chosen
}

// block is a stretch of text, or one call.
type block struct {
	text string
	call *call
}

// blocks are the text and the calls in their order.
func (r *reply) blocks() (all []block) {
	from := 0
	for i := range r.calls {
		c := &r.calls[i]
		if at := r.boundary(c.at); at > from {
			all = append(all, block{text: r.text[from:at]})
			from = at
		}
		all = append(all, block{call: c})
	}
	if from < len(r.text) {
		all = append(all, block{text: r.text[from:]})
	}
	return all
}

// boundary is where the paragraph ends that holds at: text is never parted within one.
func (r *reply) boundary(at int) int {
	if at <= 0 || at >= len(r.text) {
		return min(max(at, 0), len(r.text))
	}
	if n := strings.Index(r.text[at:], "\n\n"); n >= 0 {
		return at + n
	}
	if at > 1 && strings.HasSuffix(r.text[:at], "\n\n") {
		return at
	}
	return len(r.text)
}
