package openai

import (
	"cmp"
	"slices"
	"strconv"

	"parley/connectors/web/dialect"
)

// Responses is the encoder of responses. Like [Chat], it shows a status as a line of reasoning: the summary of an item
// between those with text. It implements [dialect.Encoder].
type Responses struct {
	Response Response
	progress
	number int    // of the next event
	items  []item // that have ended
	open   string // the type of the item in progress: "", reasoning or message
	text   string // of that item, sent so far
}

// Response is a response, whole or in progress.
type Response struct {
	ID         string         `json:"id"`
	Object     string         `json:"object"`
	Created    int64          `json:"created_at"`
	Status     string         `json:"status"` // in_progress, completed, failed
	Model      string         `json:"model"`
	Output     []item         `json:"output"`
	Error      *responseError `json:"error"`
	Previous   *string        `json:"previous_response_id"`
	Calls      bool           `json:"parallel_tool_calls"`
	Choice     string         `json:"tool_choice"`
	Tools      []any          `json:"tools"`
	Usage      *responseUsage `json:"usage"`
	Metadata   map[string]any `json:"metadata"`
	Store      bool           `json:"store"`
	Incomplete *struct{}      `json:"incomplete_details"`
}

type responseError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

type responseUsage struct {
	Input        int           `json:"input_tokens"`
	InputDetail  cachedTokens  `json:"input_tokens_details"`
	Output       int           `json:"output_tokens"`
	OutputDetail thoughtTokens `json:"output_tokens_details"`
	Total        int           `json:"total_tokens"`
}

type cachedTokens struct {
	Cached int `json:"cached_tokens"`
}

type thoughtTokens struct {
	Reasoning int `json:"reasoning_tokens"`
}

// item is a part of the output: the reasoning, or the message.
type item struct {
	ID      string    `json:"id"`
	Type    string    `json:"type"`
	Status  string    `json:"status,omitempty"`
	Role    string    `json:"role,omitempty"`
	Content []content `json:"content,omitzero"`
	Summary []content `json:"summary,omitzero"`
}

// content is a part of an item.
type content struct {
	Type        string `json:"type"`
	Text        string `json:"text"`
	Annotations []any  `json:"annotations,omitzero"`
}

// event is an event of a stream. Pointers are fields that some types require even if they are zero.
type event struct {
	Type         string    `json:"type"`
	Number       int       `json:"sequence_number"`
	Response     *Response `json:"response,omitempty"`
	ItemID       string    `json:"item_id,omitempty"`
	Output       *int      `json:"output_index,omitempty"`
	ContentIndex *int      `json:"content_index,omitempty"`
	SummaryIndex *int      `json:"summary_index,omitempty"`
	Item         *item     `json:"item,omitempty"`
	Part         *content  `json:"part,omitempty"`
	Delta        string    `json:"delta,omitempty"`
	Text         *string   `json:"text,omitempty"`
	Logprobs     []any     `json:"logprobs,omitzero"`
}

// NewResponses returns the encoder of one answer.
func NewResponses(id, model, previous string, created int64) *Responses {
	r := Response{ID: id, Object: "response", Created: created, Status: "in_progress", Model: model, Output: []item{}, Choice: "none",
		Tools: []any{}, Metadata: map[string]any{}, Store: true}
	if previous != "" {
		r.Previous = &previous
	}
	return &Responses{Response: r}
}

// add appends events, with their types in the SSE field too.
func (r *Responses) add(b []byte, all ...event) []byte {
	for _, e := range all {
		e.Number = r.number
		r.number++
		b = append(append(append(b, "event: "...), e.Type...), '\n')
		b = dialect.Event(b, e)
	}
	return b
}

// Begin implements [dialect.Encoder].
func (r *Responses) Begin(b []byte) []byte {
	now := r.Response
	return r.add(b, event{Type: "response.created", Response: &now}, event{Type: "response.in_progress", Response: &now})
}

// Encode implements [dialect.Encoder].
func (r *Responses) Encode(b []byte, s dialect.State) []byte {
	if sentence, failed := s.Failed(); failed {
		return r.Fail(b, sentence, "")
	}
	text, reasoning := r.next(s)
	if reasoning != "" {
		b = r.grow(b, "reasoning", reasoning)
	}
	if text != "" || s.Over() && !slices.ContainsFunc(r.items, func(i item) bool { return i.Type == "message" }) {
		b = r.grow(b, "message", text)
	}
	if !s.Over() {
		return b
	}
	b = r.closeItem(b)
	end := r.end(s)
	end.Output = r.items
	return r.add(b, event{Type: "response.completed", Response: &end})
}

// end returns the whole response.
func (r *Responses) end(s dialect.State) Response {
	end, u := r.Response, usageOf(s.Usage)
	end.Status, end.Output = "completed", []item{r.item()}
	end.Usage = &responseUsage{Input: u.Prompt, Output: u.Completion, Total: u.Total}
	return end
}

// grow adds to the item in progress, or begins another one if that has another type: a status after some text is reasoning again.
func (r *Responses) grow(b []byte, kind, text string) []byte {
	if r.open != kind {
		b = r.closeItem(b)
		r.open, r.text = kind, ""
		b = r.beginItem(b)
	}
	if text == "" {
		return b
	}
	r.text += text
	at, first := len(r.items), 0
	if kind == "reasoning" {
		return r.add(b, event{Type: "response.reasoning_summary_text.delta", ItemID: r.item().ID, Output: &at, SummaryIndex: &first, Delta: text})
	}
	return r.add(b, event{Type: "response.output_text.delta", ItemID: r.item().ID, Output: &at, ContentIndex: &first, Delta: text, Logprobs: []any{}})
}

// beginItem announces the item in progress.
func (r *Responses) beginItem(b []byte) []byte {
	at, first, i := len(r.items), 0, r.item()
	if r.open == "reasoning" {
		i.Summary = []content{}
		return r.add(b, event{Type: "response.output_item.added", Output: &at, Item: &i},
			event{Type: "response.reasoning_summary_part.added", ItemID: i.ID, Output: &at, SummaryIndex: &first, Part: &content{Type: "summary_text"}})
	}
	i.Status, i.Content = "in_progress", []content{}
	return r.add(b, event{Type: "response.output_item.added", Output: &at, Item: &i},
		event{Type: "response.content_part.added", ItemID: i.ID, Output: &at, ContentIndex: &first, Part: &content{Type: "output_text", Annotations: []any{}}})
}

// closeItem ends the item in progress, if there is one.
func (r *Responses) closeItem(b []byte) []byte {
	at, first, i := len(r.items), 0, r.item()
	switch r.open {
	case "reasoning":
		b = r.add(b, event{Type: "response.reasoning_summary_text.done", ItemID: i.ID, Output: &at, SummaryIndex: &first, Text: &r.text},
			event{Type: "response.reasoning_summary_part.done", ItemID: i.ID, Output: &at, SummaryIndex: &first, Part: &i.Summary[0]},
			event{Type: "response.output_item.done", Output: &at, Item: &i})
	case "message":
		b = r.add(b, event{Type: "response.output_text.done", ItemID: i.ID, Output: &at, ContentIndex: &first, Text: &r.text, Logprobs: []any{}},
			event{Type: "response.content_part.done", ItemID: i.ID, Output: &at, ContentIndex: &first, Part: &i.Content[0]},
			event{Type: "response.output_item.done", Output: &at, Item: &i})
	default:
		return b
	}
	r.items, r.open = append(r.items, i), ""
	return b
}

// item returns the item in progress.
func (r *Responses) item() item {
	id := r.Response.ID
	if n := len(r.items); n > 1 {
		id += "_" + strconv.Itoa(n)
	}
	if r.open == "reasoning" {
		return item{ID: "rs_" + id, Type: "reasoning", Summary: []content{{Type: "summary_text", Text: r.text}}}
	}
	return item{ID: "msg_" + id, Type: "message", Status: "completed", Role: dialect.Assistant,
		Content: []content{{Type: "output_text", Text: r.text, Annotations: []any{}}}}
}

// Fail implements [dialect.Encoder].
func (r *Responses) Fail(b []byte, sentence, code string) []byte {
	end := r.Response
	end.Status, end.Error = "failed", &responseError{cmp.Or(code, "server_error"), sentence}
	return r.add(b, event{Type: "response.failed", Response: &end})
}

// Whole returns the response of a request without a stream. s is the only state.
func (r *Responses) Whole(s dialect.State) any {
	r.text, _ = r.next(s)
	return r.end(s)
}
