package openai

import (
	"cmp"
	"strings"

	"parley/connectors/web/dialect"
	"parley/core/llm"
)

// Chat is the encoder of chat completions. Its client only knows text that grows, so a status is a line of reasoning,
// and options are a list below the text. It implements [dialect.Encoder].
type Chat struct {
	Head         Head
	IncludeUsage bool
	progress
}

// Head has the fields that all chunks of a completion share.
type Head struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970
	Model   string `json:"model"`
}

// chunk is an event of a stream.
type chunk struct {
	Head
	Choices []choice `json:"choices"`
	Usage   *usage   `json:"usage,omitempty"`
}

// choice is the answer, or the addition of a chunk to it.
type choice struct {
	Index   int    `json:"index"`
	Delta   *delta `json:"delta,omitempty"`
	Message *delta `json:"message,omitempty"`
	Finish  any    `json:"finish_reason"` // null, or a string
}

// delta is a message, or an addition to one. Chunks need no content, and messages do.
type delta struct {
	Role      string  `json:"role,omitempty"`
	Content   *string `json:"content,omitempty"`
	Reasoning string  `json:"reasoning_content,omitempty"`
}

// usage is the number of tokens of an answer.
type usage struct {
	Prompt     int `json:"prompt_tokens"`
	Completion int `json:"completion_tokens"`
	Total      int `json:"total_tokens"`
}

func usageOf(u *llm.UsageSum) *usage {
	if u == nil {
		return &usage{}
	}
	return &usage{u.Prompt, u.Completion, u.Prompt + u.Completion}
}

// progress records the part of an answer that a client has received.
type progress struct {
	begun    bool   // there is text in this message
	sent     string // text, also of an earlier message with the same answer
	status   string
	thinking bool // the client shows that the model reasons
}

// next returns what s adds to the text and to the reasoning.
func (p *progress) next(s dialect.State) (text, reasoning string) {
	text, p.sent = dialect.Added(p.sent, s.Text)
	if s.Choices != nil {
		text += "\n\n" + s.Choices.Numbered()
	}
	if !p.begun {
		text = strings.TrimLeft(text, "\n")
	}
	p.begun = p.begun || text != ""
	if s.Status != "" && s.Status != p.status {
		reasoning = s.Status + "\n"
	}
	if p.status = s.Status; s.Thinking && !p.thinking && s.Reasoning == "" {
		reasoning += "Thinking…\n"
	}
	p.thinking = s.Thinking
	return text, reasoning + s.Reasoning
}

// Skip implements [dialect.Encoder].
func (p *progress) Skip(s dialect.State) { p.sent, p.status = s.Text, s.Status }

// Begin implements [dialect.Encoder].
func (c *Chat) Begin(b []byte) []byte {
	empty := ""
	return c.delta(b, delta{Role: dialect.Assistant, Content: &empty})
}

func (c *Chat) delta(b []byte, d delta) []byte {
	return dialect.Event(b, chunk{Head: c.Head, Choices: []choice{{Delta: &d}}})
}

// Encode implements [dialect.Encoder].
func (c *Chat) Encode(b []byte, s dialect.State) []byte {
	if sentence, failed := s.Failed(); failed {
		return c.Fail(b, sentence, "")
	}
	text, reasoning := c.next(s)
	if reasoning != "" {
		b = c.delta(b, delta{Reasoning: reasoning})
	}
	if text != "" {
		b = c.delta(b, delta{Content: &text})
	}
	if !s.Over() {
		return b
	}
	b = dialect.Event(b, chunk{Head: c.Head, Choices: []choice{{Delta: &delta{}, Finish: "stop"}}})
	if c.IncludeUsage {
		b = dialect.Event(b, chunk{c.Head, []choice{}, usageOf(s.Usage)})
	}
	return append(b, dialect.Done...)
}

// Fail implements [dialect.Encoder].
func (c *Chat) Fail(b []byte, sentence, code string) []byte {
	kind := "server_error"
	if code != "" { // of the token
		kind = "authentication_error"
	}
	b = dialect.Event(b, Error{ErrorBody{Message: sentence, Type: kind, Code: cmp.Or(code, "no_answer")}})
	return append(b, dialect.Done...)
}

// Whole returns the response of a request without a stream. s is the only state.
func (c *Chat) Whole(s dialect.State) any {
	text, _ := c.next(s)
	head := c.Head
	head.Object = "chat.completion"
	return chunk{head, []choice{{Message: &delta{Role: dialect.Assistant, Content: &text}, Finish: "stop"}}, usageOf(s.Usage)}
}

// NewChat returns the encoder of one answer.
func NewChat(id, model string, created int64, includeUsage bool) *Chat {
	return &Chat{Head: Head{"chatcmpl-" + id, "chat.completion.chunk", created, model}, IncludeUsage: includeUsage}
}
