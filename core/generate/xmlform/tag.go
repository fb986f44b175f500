package xmlform

import "strings"

// maxTag is the length in bytes beyond which "<" begins no tag. It bounds how much text is held back.
const maxTag = 256

// tag is a known tag, with its name in lower case.
type tag struct {
	name  string
	value string // of <function=NAME>
	close bool   // </name>
	alone bool   // <name/>
	raw   string
	bol   bool // only space is before it on its line, within its field
	extra int  // bytes of unused attributes
}

// tagReader collects a possible known tag. The zero value holds nothing. Text is held back only as long as it is a
// prefix of a known tag.
type tagReader struct {
	raw  []byte
	name int // where the name ends; 0 while it grows
	bol  bool
}

// state is the progress of a tag.
type state uint8

const (
	growing state = iota
	never
	complete
)

func (r *tagReader) holds() bool { return len(r.raw) > 0 }

func (r *tagReader) begin(bol bool) { *r = tagReader{raw: append(r.raw[:0], '<'), bol: bol} }

// take empties the reader.
func (r *tagReader) take() string {
	raw := string(r.raw)
	*r = tagReader{raw: r.raw[:0]}
	return raw
}

// grow adds a byte that is not '<', and returns whether the tag is complete, can still become one, or never will. A tag
// ends on its line.
func (r *tagReader) grow(b byte, known []string) state {
	r.raw = append(r.raw, b)
	switch {
	case r.name > 0 && b == '>':
		return complete
	case len(r.raw) >= maxTag || b == '\n':
		return never
	case r.name > 0 || len(r.raw) == 2 && b == '/':
		return growing
	}
	// The name ends here. It must be a known one, and only two of them have a value in the tag itself.
	ends := b == '>' || b == ' ' || b == '\t' || b == '\r' || b == '=' || b == '/'
	name := strings.ToLower(string(r.raw[r.start():]))
	if ends {
		name = name[:len(name)-1]
	}
	for _, k := range known {
		switch {
		case !ends && strings.HasPrefix(k, name):
			return growing
		case ends && k == name && (b != '=' || k == functionTag || k == parameterTag):
			r.name = len(r.raw) - 1
			if b == '>' {
				return complete
			}
			return growing
		}
	}
	return never
}

// start returns where the name begins.
func (r *tagReader) start() int {
	if len(r.raw) > 1 && r.raw[1] == '/' {
		return 2
	}
	return 1
}

// tag parses a complete tag and empties the reader.
func (r *tagReader) tag() tag {
	t := tag{close: r.start() == 2, name: strings.ToLower(string(r.raw[r.start():r.name])), bol: r.bol}
	rest := string(r.raw[r.name : len(r.raw)-1])
	if inner, ok := strings.CutSuffix(rest, "/"); ok {
		t.alone, rest = true, inner
	}
	if value, ok := strings.CutPrefix(rest, "="); ok {
		t.value = strings.Trim(strings.TrimSpace(value), `"'`)
	} else {
		t.extra = len(strings.TrimSpace(rest))
	}
	t.raw = r.take()
	return t
}

// attribute returns the value of name in a tag, or "".
func attribute(raw, name string) string {
	_, rest, ok := strings.Cut(raw, name+"=")
	if !ok || rest == "" {
		return ""
	}
	if quote := rest[0]; quote == '"' || quote == '\'' {
		value, _, _ := strings.Cut(rest[1:], string(quote))
		return value
	}
	end := strings.IndexAny(rest, " \t/>")
	if end < 0 {
		end = len(rest)
	}
	return rest[:end]
}
