package openai

import (
	"encoding/json"
	"slices"
	"sync/atomic"

	"parley/core/llm"
	"parley/models/wire"
)

type (
	tool struct {
		Type     string   `json:"type"`
		Function function `json:"function"`
	}
	function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Strict      *bool           `json:"strict,omitempty"` // never true: strict ones take a part of JSON schema only
		Parameters  json.RawMessage `json:"parameters"`
	}
)

// tools encodes the tools of requests. They are the same in most requests, and most of the work of encoding one, so the
// last ones are kept. The zero value is ready for use, also concurrently.
type tools struct{ last atomic.Pointer[encodedTools] }

// encodedTools are tools and their JSON. It is immutable.
type encodedTools struct {
	tools  []llm.Tool
	strict bool
	text   []byte
}

// encoded returns all as the value of a request's tools, which must not be modified; nil if there are none. n must be
// made of a request with these tools: it gives them names that depend on nothing else. Their schemas must be those of
// [wire.Schema]. With strict, each has "strict": false.
func (t *tools) encoded(all []llm.Tool, n wire.Names, strict bool) ([]byte, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if last := t.last.Load(); last != nil && last.strict == strict && slices.EqualFunc(last.tools, all, wire.SameTool) {
		return last.text, nil
	}
	list := make([]tool, 0, len(all))
	var says *bool
	if strict {
		says = new(false)
	}
	for _, t := range all {
		list = append(list, tool{Type: "function", Function: function{
			Name: n.Wire(t.Name), Description: t.Description, Strict: says, Parameters: t.Parameters,
		}})
	}
	text, err := encoded(list, 0)
	if err != nil {
		return nil, err
	}
	t.last.Store(&encodedTools{slices.Clone(all), strict, text})
	return text, nil
}
