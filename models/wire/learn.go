package wire

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"parley/core/llm"
)

// DefaultParameter is a parameter that requests have although no owner has configured it. If the server refuses it, requests go
// without it from then on: see [Endpoint.Sends].
type DefaultParameter struct {
	Name  string
	Words []string // servers' names for it; empty: its Name
	// Needed is of a parameter that matters, such as a limit. It is left out only if the server does not
	// have it, not if the server objects to its value.
	Needed bool
}

// maxRefused is the maximum number of tools that an Endpoint remembers as refused.
const maxRefused = 128

// learned holds an Endpoint's conclusions from refusals. It is not changed, but replaced.
type learned struct {
	without map[string]bool               // own parameters, by their names
	tools   map[[sha256.Size]byte]Refused // by their hashes
}

// Refused is a tool that a server has refused, and its reason, without secrets.
type Refused struct{ Tool, Why string }

// offered are tools of a request, and the tools that are offered to the server in their place. It is not changed, but replaced.
type offered struct {
	tools []llm.Tool
	known *learned
	offer []llm.Tool
}

// Sends reports whether requests have the own parameter of that name.
func (m *Endpoint) Sends(name string) bool { return !m.known.Load().without[name] }

// offer returns tools as the server accepts them: with schemas as [Schema] makes them, and without those that it has
// refused. They are the same in most requests, so the last ones are kept. The result must not be modified.
func (m *Endpoint) offer(tools []llm.Tool) []llm.Tool {
	known := m.known.Load()
	if last := m.offered.Load(); last != nil && last.known == known && slices.EqualFunc(last.tools, tools, SameTool) {
		return last.offer
	}
	var offer []llm.Tool
	for _, t := range tools {
		t.Parameters = Schema(t.Parameters)
		if len(known.tools) > 0 {
			if _, refused := known.tools[hashOf(t)]; refused {
				continue
			}
		}
		offer = append(offer, t)
	}
	m.offered.Store(&offered{slices.Clone(tools), known, offer})
	return offer
}

// SameTool reports whether two tools have the same definition.
func SameTool(a, b llm.Tool) bool {
	return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Parameters, b.Parameters)
}

// hashOf identifies a definition as it is offered: a tool that changes is tried again.
func hashOf(t llm.Tool) [sha256.Size]byte {
	return sha256.Sum256(fmt.Appendf(nil, "%q %q %s", t.Name, t.Description, t.Parameters))
}

// learns reports whether err refuses something that the next request leaves out: an own parameter, or a tool. before holds
// the facts learned before the request was made, and sent are its tools. Each is learned once, so there is an end to it. The
// refused request was not processed, so making it again costs nothing.
func (m *Endpoint) learns(err error, before *learned, sent []llm.Tool) bool {
	r, ok := errors.AsType[*Refusal](err)
	if !ok || r.status != http.StatusBadRequest && r.status != http.StatusUnprocessableEntity {
		return false
	}
	if kind, retry := r.sort(); kind != llm.ProviderIssue || retry || Filtered(err) {
		return false
	}
	for _, own := range m.Defaults {
		if !before.without[own.Name] && r.refusesOwn(own) {
			m.learn(func(k *learned) { k.without[own.Name] = true })
			m.log().Warn("a model server refuses a parameter; requests are made without it", "model", m.String(), "parameter", own.Name, "err", m.redact.Clean(r.Error()))
			return true
		}
	}
	t, ok := r.names(sent)
	if !ok || len(before.tools) >= maxRefused {
		return false
	}
	why := m.redact.Clean(r.Error())
	m.learn(func(k *learned) { k.tools[hashOf(t)] = Refused{t.Name, why} })
	m.log().Warn("a model server refuses a tool; it is not offered to the model", "model", m.String(), "tool", t.Name, "err", why)
	return true
}

// learn replaces the learned facts by a copy that add has changed.
func (m *Endpoint) learn(add func(*learned)) {
	for {
		before := m.known.Load()
		next := &learned{maps.Clone(before.without), maps.Clone(before.tools)}
		if add(next); m.known.CompareAndSwap(before, next) {
			return
		}
	}
}

// Left returns the own parameters that the server has refused so far, sorted.
func (m *Endpoint) Left() []string { return slices.Sorted(maps.Keys(m.known.Load().without)) }

// RefusedTools returns the tools that the server has refused so far, sorted by name.
func (m *Endpoint) RefusedTools() []Refused {
	return slices.SortedFunc(maps.Values(m.known.Load().tools), func(a, b Refused) int { return strings.Compare(a.Tool, b.Tool) })
}

// text is all that the server said, in lower case.
func (r *Refusal) text() string { return strings.ToLower(r.message + " " + r.param) }

// refusesOwn reports whether the server refuses a parameter.
func (r *Refusal) refusesOwn(own DefaultParameter) bool {
	said, words := r.text(), own.Words
	if len(words) == 0 {
		words = []string{own.Name}
	}
	named := slices.ContainsFunc(words, func(w string) bool { return has(said, strings.ToLower(w)) })
	return named && (!own.Needed || r.unknown())
}

// unknown reports whether the server refuses a parameter as unknown. It compares the words of OpenAI, vLLM,
// Mistral, Groq, Google, Anthropic, and servers that check requests with pydantic, serde or Go's decoder.
func (r *Refusal) unknown() bool {
	said := r.text() + " " + strings.ToLower(r.code)
	return slices.ContainsFunc([]string{
		"unsupported", "not support", "unrecognized", "unknown", "unexpected", "not permitted", "not allowed", "forbidden", "additional propert", "no such", "does not exist", "cannot find field",
	}, func(w string) bool { return strings.Contains(said, w) })
}

// has reports whether text has word, not as a part of another one.
func has(text, word string) bool {
	for at := 0; word != ""; {
		i := strings.Index(text[at:], word)
		if i < 0 {
			return false
		}
		begin := at + i
		end := begin + len(word)
		if (begin == 0 || !isWord(text[begin-1])) && (end == len(text) || !isWord(text[end])) {
			return true
		}
		at = begin + 1
	}
	return false
}

func isWord(b byte) bool {
	return b == '_' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z'
}

// toolIndex is the place of a tool in a request, as servers name it: tools[3].function.parameters, tools.3.custom.input_schema,
// ["body","tools",3], function_declarations[3]. Google's has two indexes; the second one counts.
var toolIndex = regexp.MustCompile(`(?i)\b(?:function_?declarations|tools)\W{1,4}(\d{1,4})\b`)

// names returns the tool of sent that the server refuses, by its place or its name.
func (r *Refusal) names(sent []llm.Tool) (llm.Tool, bool) {
	said := r.message + " " + r.param
	if all := toolIndex.FindAllStringSubmatch(said, -1); all != nil {
		last := all[0][1]
		for _, found := range all {
			if strings.HasPrefix(strings.ToLower(found[0]), "function") {
				last = found[1]
				break
			}
		}
		if i, err := strconv.Atoi(last); err == nil && i < len(sent) {
			return sent[i], true
		}
	}
	about := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(said), w) })
	}
	if about("message", "tool_call", "tool_use", "tool_result", "tool_choice") || !about("schema", "function", "tool", "parameters") {
		return llm.Tool{}, false // it is about a call, or about none of them
	}
	n := NamesOf(llm.Request{Tools: sent})
	var named []llm.Tool
	for _, t := range sent {
		if has(said, n.Wire(t.Name)) {
			named = append(named, t)
		}
	}
	// The longest name: others can be words of the sentence.
	if len(named) == 0 {
		return llm.Tool{}, false
	}
	return slices.MaxFunc(named, func(a, b llm.Tool) int { return len(a.Name) - len(b.Name) }), true
}
