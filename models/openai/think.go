package openai

import "strings"

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// thoughts takes out what a model thinks aloud at the beginning of its answer, where the server does not (LM-10).
// Anywhere else the tags are text like any other. The zero value stands before the first piece.
type thoughts struct {
	state thoughtState
	held  strings.Builder // of undecided: all that has come; of inside: what is thought
}

type thoughtState uint8

const (
	undecided thoughtState = iota
	inside
	between // after the closing tag, before the answer
	outside
)

// split returns what of a piece is for people. The rest is held back.
func (t *thoughts) split(piece string) string {
	switch t.state {
	case undecided:
		t.held.WriteString(piece)
		piece = t.held.String()
		start := strings.TrimLeft(piece, " \r\n\t")
		if thought, ok := strings.CutPrefix(start, thinkOpen); ok {
			t.become(inside)
			return t.split(thought)
		}
		if strings.HasPrefix(thinkOpen, start) {
			return "" // it may become the tag
		}
		t.become(outside)
	case inside:
		from := max(t.held.Len()-len(thinkClose), 0) // the tag may have begun before this piece
		t.held.WriteString(piece)
		_, rest, ok := strings.Cut(t.held.String()[from:], thinkClose)
		if !ok {
			return ""
		}
		t.become(between)
		return t.split(rest)
	case between:
		piece = strings.TrimLeft(piece, " \r\n\t")
		if piece != "" {
			t.state = outside
		}
	}
	return piece
}

// rest returns what is to be shown at the end of an answer after all: what was not a tag, or thoughts that never
// ended, as there is nothing else.
func (t *thoughts) rest() string {
	held := t.held.String()
	t.become(outside)
	return held
}

func (t *thoughts) become(s thoughtState) {
	t.state = s
	t.held.Reset()
}
