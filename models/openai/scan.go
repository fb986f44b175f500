package openai

import "cmp"

// maxNesting is the maximum depth of values that are skipped, so that hostile input can't exhaust the stack.
const maxNesting = 64

// scanner decodes the JSON of events in the form that nearly all servers use, without reflection and with few
// allocations. It fails on any other form: a known field of another type, or one that appears twice, several choices,
// escaped keys, invalid JSON. It must never succeed with another result than [chunk.decodeAny], which tests compare; when it
// fails, decodeAny decodes the event.
type scanner struct {
	in     []byte
	at     int
	failed bool // everything that is read from then on is empty
}

// scan decodes an event into c, and reports whether it could.
func (c *chunk) scan(data []byte) bool {
	*c = chunk{}
	s := scanner{in: data}
	var seen fields
	s.object(func(key []byte) {
		switch string(key) {
		case "choices":
			s.once(&seen, 0)
			s.choices(c)
		case "usage":
			s.once(&seen, 1)
			if c.counted = !s.null(); c.counted {
				s.usage(c)
			}
		case "error":
			s.failed = present(s.value(0)) || s.failed
		default:
			s.value(0)
		}
	})
	s.space()
	return !s.failed && s.at == len(s.in)
}

// fields is the set of known fields of an object that were read, as bits.
type fields uint

// once fails if field n was read before: decodeAny takes the last of several, this scanner would mix them.
func (s *scanner) once(seen *fields, n int) {
	s.failed = s.failed || *seen&(1<<n) != 0
	*seen |= 1 << n
}

// choices reads the list of choices. More than one fails, as the memory is for one.
func (s *scanner) choices(c *chunk) {
	if s.null() {
		return
	}
	n := 0
	s.list(func() {
		if s.choice(&c.only[0]) {
			c.choices = c.only[:]
		}
		n++
	})
	s.failed = s.failed || n > 1
}

// choice reads a choice, and reports whether it is the one that was requested.
func (s *scanner) choice(c *choice) bool {
	*c = choice{}
	var seen fields
	index := int64(0)
	s.object(func(key []byte) {
		switch string(key) {
		case "index":
			s.once(&seen, 0)
			index = s.count()
		case "finish_reason":
			s.once(&seen, 1)
			c.finish = s.text()
		case "delta":
			s.once(&seen, 2)
			if !s.null() {
				s.delta(c)
			}
		default:
			s.value(0)
		}
	})
	return index == 0
}

// delta reads the new part of the answer.
func (s *scanner) delta(c *choice) {
	var seen fields
	content, refusal, first, second := "", "", "", ""
	s.object(func(key []byte) {
		field := -1
		switch string(key) {
		case "content":
			field, content = 0, s.text()
		case "refusal":
			field, refusal = 1, s.text()
		case "reasoning_content":
			field, first = 2, s.reasoning(c)
		case "reasoning":
			field, second = 3, s.reasoning(c)
		case "reasoning_details":
			field, c.thinks = 4, present(s.value(0)) || c.thinks
		case "tool_calls":
			field = 5
			s.calls(c)
		default:
			s.value(0)
			return
		}
		s.once(&seen, field)
	})
	c.text, c.reason = content+refusal, cmp.Or(first, second)
}

// reasoning reads a field with reasoning, and returns it if it is text.
func (s *scanner) reasoning(c *choice) (text string) {
	if s.space(); s.at < len(s.in) && s.in[s.at] == '"' {
		text = s.text()
		c.thinks = text != "" || c.thinks
		return text
	}
	c.thinks = present(s.value(0)) || c.thinks
	return ""
}

// calls reads the pieces of tool calls.
func (s *scanner) calls(c *choice) {
	if s.null() {
		return
	}
	s.list(func() { c.calls = append(c.calls, s.piece()) })
}

// piece reads a piece of a tool call.
func (s *scanner) piece() (p piece) {
	var seen fields
	s.object(func(key []byte) {
		switch string(key) {
		case "index":
			s.once(&seen, 0)
			p.index, p.indexed = s.count(), true
		case "id":
			s.once(&seen, 1)
			p.id = s.text()
		case "function":
			s.once(&seen, 2)
			s.object(func(key []byte) {
				switch string(key) {
				case "name":
					s.once(&seen, 3)
					p.name = s.text()
				case "arguments":
					s.once(&seen, 4)
					p.arguments = s.text()
				default:
					s.failed = present(s.value(0)) || s.failed
				}
			})
		case "type":
			s.value(0)
		default: // a field that is kept, which is rare: decodeAny decides
			s.failed = present(s.value(0)) || s.failed
		}
	})
	return p
}

// usage reads the numbers of tokens.
func (s *scanner) usage(c *chunk) {
	var seen fields
	hits := 0
	defer func() { c.usage.Cached = cmp.Or(c.usage.Cached, hits) }()
	s.object(func(key []byte) {
		switch string(key) {
		case "prompt_tokens":
			s.once(&seen, 0)
			c.usage.Prompt = int(s.count())
		case "completion_tokens":
			s.once(&seen, 1)
			c.usage.Completion = int(s.count())
		case "prompt_tokens_details":
			s.once(&seen, 2)
			s.details(c)
		case "prompt_cache_hit_tokens": // of DeepSeek
			s.once(&seen, 3)
			hits = int(s.count())
		default:
			s.value(0)
		}
	})
}

// details reads the numbers of tokens that were read from the provider's cache, and written to it.
func (s *scanner) details(c *chunk) {
	if s.null() {
		return
	}
	var seen fields
	s.object(func(key []byte) {
		into, n := &c.usage.Cached, 0
		switch string(key) {
		case "cached_tokens":
		case "cache_write_tokens":
			into, n = &c.usage.CacheWritten, 1
		default:
			s.value(0)
			return
		}
		if !s.null() {
			s.once(&seen, n)
			*into = int(s.count())
		}
	})
}

// present reports whether the JSON of a field has a value. Some servers send every field, with null or an empty value.
func present[T string | []byte](raw T) bool {
	switch string(raw) {
	case "", "null", `""`, "[]", "{}", "false":
		return false
	}
	return true
}
