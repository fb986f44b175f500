package main

import (
	"slices"
	"strings"
	"time"

	"parley/internal/lang"
)

// message is a visible message of the agent.
type message struct {
	id, text string
	at       time.Time // of its creation
	changed  time.Time // of its last edit; at if there was none
}

// piece is a message that contains the words from up to to of an answer. No two words of an answer are equal.
type piece struct {
	message
	nth      int // its place among the room's messages
	from, to int // to is 0 if the message contains anything else
	marked   bool
}

// pieceOf locates a message within an answer.
func pieceOf(words []string, m message, nth int) piece {
	p := piece{message: m, nth: nth}
	bare, marked := strings.CutSuffix(m.text, "\n\n"+lang.Voice{}.Say("message.repeated"))
	said := strings.Fields(bare)
	p.marked = marked
	if len(said) == 0 {
		return p
	}
	if from := slices.Index(words, said[0]); from >= 0 && from+len(said) <= len(words) && slices.Equal(words[from:from+len(said)], said) {
		p.from, p.to = from, from+len(said)
	}
	return p
}

// standing is all that users see of one answer.
type standing struct {
	pieces []piece // in the order of the room's messages
	asked  int     // how often the page shows the question
	older  bool    // the page is full of newer messages

	// The result of assemble:
	chain    []piece // the messages that make up the whole answer; nil if some of it is missing
	disorder bool    // the chain's messages do not stand in the order of the text
	marked   []piece // repetitions with a mark, also if they are in the chain
	previews []piece // beginnings of another message
	doubles  []piece // all other messages
}

// assemble finds the messages that make up the answer and classifies the others.
func (s *standing) assemble(words int) {
	firsts := slices.DeleteFunc(slices.Clone(s.pieces), func(p piece) bool { return p.marked })
	s.chain = chain(firsts, words, 0, -1, true)
	if s.chain == nil {
		s.chain = chain(s.pieces, words, 0, -1, true)
	}
	if s.chain == nil {
		s.chain = chain(s.pieces, words, 0, -1, false)
		s.disorder = s.chain != nil
	}
	in := func(list []piece, p piece) bool {
		return slices.ContainsFunc(list, func(o piece) bool { return o.nth == p.nth })
	}
	begins := func(p piece) bool {
		return p.to > 0 && slices.ContainsFunc(s.pieces, func(o piece) bool { return o.from == p.from && o.to > p.to && (o.marked || in(s.chain, o)) })
	}
	for _, p := range s.pieces {
		switch {
		case p.marked && p.to > 0:
			s.marked = append(s.marked, p)
		case in(s.chain, p):
		case begins(p):
			s.previews = append(s.previews, p)
		default:
			s.doubles = append(s.doubles, p)
		}
	}
}

// chain returns pieces that contain the words from the given one up to the last, each once; nil if there are none. If ordered,
// each stands after the one before, the first after the given place.
func chain(pieces []piece, words, from, after int, ordered bool) []piece {
	for _, p := range pieces {
		if p.from != from || p.to <= from || ordered && p.nth <= after {
			continue
		}
		if p.to == words {
			return []piece{p}
		}
		if rest := chain(pieces, words, p.to, p.nth, ordered); rest != nil {
			return append([]piece{p}, rest...)
		}
	}
	return nil
}

// alone returns the marked messages of the chain: no first message stands that they could repeat.
func (s *standing) alone() []piece {
	return slices.DeleteFunc(slices.Clone(s.chain), func(p piece) bool { return !p.marked })
}

// done returns when the answer was complete.
func (s *standing) done() (last time.Time) {
	for _, p := range s.chain {
		if p.changed.After(last) {
			last = p.changed
		}
	}
	return last
}

// first returns the place of the answer among the room's messages. It must have one.
func (s *standing) first() int {
	return slices.MinFunc(s.chain, func(a, b piece) int { return a.nth - b.nth }).nth
}
