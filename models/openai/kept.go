package openai

import (
	"encoding/json"
	"maps"

	"parley/core/llm"
)

// maxKept is the maximum size of the fields of one call that are kept, in bytes. Signatures have some thousand.
const maxKept = 256 << 10

// keptCall holds the fields of a call that chat completions don't define, such as Gemini's extra_content with its
// signature. The server wants it back with the call, as it came.
type keptCall struct {
	Name     string                     `json:"name,omitempty"` // of the tool, as the server calls it
	Call     map[string]json.RawMessage `json:"call,omitempty"`
	Function map[string]json.RawMessage `json:"function,omitempty"`
}

// some reports whether there is anything to send back.
func (k keptCall) some() bool { return len(k.Call)+len(k.Function) > 0 }

// add adds the fields of a piece. Later ones replace earlier ones.
func (k *keptCall) add(p piece) {
	if k.Name == "" {
		k.Name = p.name
	}
	for _, part := range []struct {
		into *map[string]json.RawMessage
		from map[string]json.RawMessage
	}{{&k.Call, p.kept.Call}, {&k.Function, p.kept.Function}} {
		if *part.into == nil && len(part.from) > 0 {
			*part.into = map[string]json.RawMessage{}
		}
		maps.Copy(*part.into, part.from)
	}
}

// kept holds the data that a server wants back with an answer. It is stored as [llm.Opaque] while an answer waits for a
// user, so its JSON must stay readable. Without fields of calls, the reasoning alone is stored, as before there were
// any.
type kept struct {
	Reasoning json.RawMessage `json:"reasoning,omitempty"`
	Calls     []keptCall      `json:"calls"`
}

// opaque returns the data collected from an answer, for its owner, or nil.
func (s *stream) opaque() *llm.Opaque {
	thought := s.thought.opaque(s.owner)
	all := kept{}
	some := false
	for _, c := range s.calls.known {
		all.Calls, some = append(all.Calls, c.kept), some || c.kept.some()
	}
	if !some {
		return thought
	}
	if thought != nil {
		all.Reasoning = thought.Data
	}
	data, err := json.Marshal(all)
	if err != nil {
		return thought // decoded JSON can always be encoded
	}
	return &llm.Opaque{Owner: s.owner, Data: data}
}

// readKept reads the result of opaque, of this version or an earlier one.
func readKept(data json.RawMessage) (k kept) {
	if len(data) == 0 || data[0] != '{' || json.Unmarshal(data, &k) != nil {
		k = kept{Reasoning: data}
	}
	return k
}

// take returns the fields of the next call of the tool of that name, and removes it and those before it: the runtime
// can have left out calls since they came.
func (k *kept) take(name string) keptCall {
	for i, c := range k.Calls {
		if c.Name == name {
			k.Calls = k.Calls[i+1:]
			return c
		}
	}
	return keptCall{}
}

// MarshalJSON implements json.Marshaler.
func (c toolCall) MarshalJSON() ([]byte, error) {
	type plain toolCall // without this method
	if !c.kept.some() {
		return encoded(plain(c), 0)
	}
	function := map[string]any{}
	for key, value := range c.kept.Function {
		function[key] = value
	}
	function["name"], function["arguments"] = c.Function.Name, c.Function.Arguments
	all := map[string]any{}
	for key, value := range c.kept.Call {
		all[key] = value
	}
	all["id"], all["type"], all["function"] = c.ID, c.Type, function
	return encoded(all, 0)
}
