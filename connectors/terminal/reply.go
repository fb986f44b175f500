package terminal

import (
	"slices"
	"strings"

	"parley/core/answer"
)

// reply is the received state of an answer. It belongs to the goroutine that receives or shows it.
type reply struct {
	text  string // grown's content, cached because converting it for each piece would cost more as it grows
	grown strings.Builder
	calls []call
	asks  *answer.Choices // the current options
	cut   bool            // the connection is lost
	end   *Frame

	files []File // set at the end

	said string // the message, if it was typed during another answer
	note string // the result of a line that was typed during this answer
}

// call is one tool call.
type call struct {
	id    string
	at    int // bytes of text above it; some may not have arrived yet
	last  Frame
	shown string // its parameters for display
	files []File // its current files
}

// reply converts an earlier message to the final state of its answer.
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

// take applies a frame. Each frame after a loss shows that the connection is back.
func (r *reply) take(f Frame) {
	r.cut = f.Type == reconnecting
	switch f.Type {
	case "status":
		if f.Kind == "choices" || f.Kind == "thinking" { // the first frame of each stream; there are no options yet
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

// say applies text: the whole text, if present, replaces the previous text.
func (r *reply) say(f Frame) {
	added := f.Text
	if f.FullText != nil {
		r.grown.Reset()
		added = f.FullText
	}
	r.grown.WriteString(*added)
	r.text = r.grown.String()
}

// tool applies a frame of a call. The parameters are sent once. A frame with files replaces the previous files, and can
// be otherwise empty.
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
	f.raw, f.Images, f.Files = nil, nil, nil // they can be large
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

// offer returns the current options, or nil.
func (r *reply) offer() *answer.Choices {
	if r.end == nil {
		return r.asks
	}
	return r.end.Choices
}

// offered returns the current options, and noFiles if users are asked for a file, which can't be sent here; "" without options.
func (r *reply) offered(noFiles string) string {
	o := r.offer()
	if o == nil {
		return ""
	}
	if len(o.Fields) > 0 && o.Fields[0].Kind == answer.FileField {
		return noFiles + "\n" + o.Numbered()
	}
	return o.Numbered()
}

// silent reports whether r has nothing to show because its message was a choice that another answer waited for.
func (r *reply) silent() bool {
	return r.said != "" && r.end != nil && r.end.Kind == chosen
}

// block is a stretch of text or one call.
type block struct {
	text string
	call *call
}

// blocks returns the text and the calls in order. A call is placed at the end of its paragraph.
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

// boundary returns the end of the paragraph at an offset, because text is never split within one.
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
