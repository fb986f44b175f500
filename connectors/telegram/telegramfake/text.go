package telegramfake

import (
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	maxText     = 4096  // code points after parsing
	maxRaw      = 32768 // bytes before parsing
	maxEntities = 100
)

// Normalise returns what the server stores of a plain text (TR-06): TAB and control characters become spaces; CR,
// U+2028–U+202E and the combining lines U+030A, U+0333, U+033F vanish; of direction marks in a row only the last
// stays one; spaces and newlines at both ends go.
func Normalise(text string) string {
	out, _ := clean(text, nil)
	return out
}

// format is the way of a text into a message: parse, normalize, limits. lost counts entities that vanish silently.
func format(raw string, html bool, given []Entity) (text string, entities []Entity, lost int, err error) {
	switch {
	case raw == "":
		return "", nil, 0, badRequest("message text is empty")
	case len(raw) > maxRaw:
		return "", nil, 0, badRequest("text is too long")
	case !utf8.ValidString(raw):
		return "", nil, 0, badRequest("strings must be encoded in UTF-8")
	}
	text, entities = raw, given
	if html {
		if text, entities, lost, err = parseHTML(raw); err != nil {
			return "", nil, 0, &apiError{code: 400, text: "Bad Request: can't parse entities: " + err.Error()}
		}
	}
	total := units(text)
	for _, e := range entities {
		if e.Offset < 0 || e.Length < 0 || e.Offset+e.Length > total {
			return "", nil, 0, badRequest("entity %s is outside of the text", e.Type)
		}
	}
	fixed, dropped := fixEntities(entities)
	text, entities = clean(text, fixed)
	switch {
	case strings.TrimFunc(text, invisible) == "":
		return "", nil, 0, badRequest("text must be non-empty")
	case utf8.RuneCountInString(text) > maxText:
		return "", nil, 0, badRequest("message is too long")
	}
	lost += dropped
	if len(entities) > maxEntities {
		lost += len(entities) - maxEntities
		entities = entities[:maxEntities]
	}
	return text, entities, lost, nil
}

// invisible tells of characters that make no text by themselves.
func invisible(r rune) bool {
	switch {
	case r == ' ', r == '\n', r == '\u00a0', r == '\u1680', r == '\u180e', r == '\u2800', r == '\u3000',
		r == '\ufeff', r == '\ufffc', r == '\u202e', r == '\u202f', r == '\u205f':
		return true
	case r >= '\u2000' && r <= '\u200f', r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// clean normalizes and trims text and moves the entities along.
func clean(text string, entities []Entity) (string, []Entity) {
	runes := []rune(text)
	moved := make([]int, 0, len(runes)+1) // old UTF-16 offset → new one
	out, at := make([]rune, 0, len(runes)), 0
	for i, r := range runes {
		for range utf16.RuneLen(r) {
			moved = append(moved, at)
		}
		if r = cleanRune(runes, i); r >= 0 {
			out, at = append(out, r), at+utf16.RuneLen(r)
		}
	}
	moved = append(moved, at)
	kept := make([]Entity, 0, len(entities))
	for _, e := range entities {
		end := moved[e.Offset+e.Length]
		e.Offset = moved[e.Offset]
		e.Length = end - e.Offset
		kept = append(kept, e)
	}
	return trim(string(out), kept)
}

// cleanRune is what stands for runes[i], negative if nothing does.
func cleanRune(runes []rune, i int) rune {
	r := runes[i]
	switch {
	case r == '\r', r >= '\u2028' && r <= '\u202e', r == '\u030a', r == '\u0333', r == '\u033f':
		return -1
	case r < ' ' && r != '\n':
		return ' '
	case directionMark(r) && i+1 < len(runes) && directionMark(runes[i+1]):
		return '\u200c'
	}
	return r
}

func directionMark(r rune) bool { return r == '\u200e' || r == '\u200f' }

// trim cuts spaces and newlines: at the end all, at the start only those before the first entity.
func trim(text string, entities []Entity) (string, []Entity) {
	text = strings.TrimRight(text, " \n")
	total := units(text)
	entities = slices.DeleteFunc(entities, func(e Entity) bool { return e.Length <= 0 || e.Offset >= total })
	sortEntities(entities)
	lead := len(text) - len(strings.TrimLeft(text, " \n"))
	if len(entities) > 0 {
		lead = min(lead, entities[0].Offset)
	}
	for i := range entities {
		e := &entities[i]
		e.Length = min(e.Length, total-e.Offset)
		e.Offset -= lead
	}
	sortEntities(entities)
	if len(entities) == 0 {
		entities = nil
	}
	return text[lead:], entities
}

// units counts UTF-16 code units.
func units(s string) (n int) {
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}
