package dialect

import (
	"encoding/json"
	"iter"
	"strings"
	"unicode/utf8"

	"parley/core/answer"
)

// Events are the events that an encoder has yet to return.
type Events []byte

// Add adds the event of v; see [Event].
func (e *Events) Add(v any) { *e = Event(*e, v) }

// Take appends the events to b, and removes them.
func (e *Events) Take(b []byte) []byte {
	b, *e = append(b, *e...), (*e)[:0]
	return b
}

// Calls records how much of each call of an answer a client has received, by the ids of the calls. The zero value is ready for use.
type Calls map[string]received

// received is the part of a call that a client has.
type received struct {
	params int  // bytes of its parameters
	ready  bool // these are all
	done   bool
}

// CallNews is the part of a call that a client lacks.
type CallNews struct {
	Begins bool
	Params string // the added piece of the parameters
	Ready  bool   // the parameters are complete now
	Ends   bool
}

// Next returns the part of c that the client lacks, and records that it has it.
func (cs *Calls) Next(c Call) (n CallNews) {
	was, begun := (*cs)[c.ID]
	if was.done {
		return n
	}
	now := received{max(was.params, len(c.Parameters)), was.ready || c.Stage != answer.StageStart && c.Stage != answer.StageStreaming, c.Done()}
	n = CallNews{Begins: !begun, Ready: now.ready && !was.ready, Ends: now.done}
	if !was.ready && len(c.Parameters) > was.params {
		n.Params = c.Parameters[was.params:]
	}
	if *cs == nil {
		*cs = Calls{}
	}
	(*cs)[c.ID] = now
	return n
}

// Unready returns the ids of the calls whose parameters are not complete at the client.
func (cs Calls) Unready() iter.Seq[string] {
	return func(yield func(string) bool) {
		for id, c := range cs {
			if !c.ready && !yield(id) {
				return
			}
		}
	}
}

// Added returns the part of now that a client lacks which has received sent, and all that it has received then. If now does not
// begin with sent, text was withdrawn, or another process has begun the answer again: then nothing is added while now is
// only shorter, and otherwise all of now follows in a new paragraph. A character that is not complete yet is left out.
func Added(sent, now string) (added, received string) {
	now = whole(now)
	switch {
	case strings.HasPrefix(now, sent):
		return now[len(sent):], now
	case strings.HasPrefix(sent, now):
		return "", sent
	}
	return "\n\n" + now, now
}

// whole returns s without an incomplete character at its end.
func whole(s string) string {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		if c := s[len(s)-n]; utf8.RuneStart(c) {
			if !utf8.FullRuneInString(s[len(s)-n:]) {
				return s[:len(s)-n]
			}
			break
		}
	}
	return s
}

// Event appends one server-sent event with the JSON of v, which must be encodable. JSON has no line breaks, so it is one
// line. Two LF end it: some clients search for exactly these.
func Event(b []byte, v any) []byte {
	return append(append(append(b, "data: "...), Raw(v)...), "\n\n"...)
}

// Done is the last event of formats that have one.
const Done = "data: [DONE]\n\n"

// Raw returns the JSON of v, which must be encodable.
func Raw(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// Object returns s if it is a JSON object, and an empty object otherwise: the parameters of a call can be incomplete, or
// hidden.
func Object(s string) json.RawMessage {
	if trimmed := strings.TrimSpace(s); strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return json.RawMessage(trimmed)
	}
	return json.RawMessage("{}")
}
