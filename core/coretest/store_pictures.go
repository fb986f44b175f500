package coretest

import (
	"testing"

	"parley/core"
)

func pictureChecks() []storeCheck {
	return []storeCheck{
		{"the pictures of an answer stay as long as it does", picturesStay},
		{"a later verdict has pictures of its own", picturesReplaced},
		{"no answer, no pictures", picturesOfNothing},
	}
}

var twoPictures = []core.Blob{{Type: "image/png", Data: []byte("\x89PNG\x00\xff")}, {Type: "image/gif", Data: []byte("GIF")}}

// shown starts a run whose verdict comes with pictures.
func (s store) shown(n int, pictures []core.Blob) core.Run {
	s.t.Helper()
	r := s.start(s.opened("room", n).ID, "owner")
	s.note(r, core.Note{Verdict: &core.Verdict{Outcome: done, Text: "look"}, Pictures: pictures})
	return r
}

func (s store) shows(r core.Run, want ...core.Blob) {
	s.t.Helper()
	for n, w := range want {
		b, err := s.Picture(s.t.Context(), r.ID, n)
		s.must(err)
		s.same("the picture", b, w)
	}
	for _, n := range []int{-1, len(want)} {
		_, err := s.Picture(s.t.Context(), r.ID, n)
		s.fails(err, core.ErrNotFound)
	}
}

func picturesStay(t *testing.T, s store) {
	first := s.shown(1, twoPictures)
	s.shows(first, twoPictures...)
	s.note(first, core.Note{Text: "more"})
	s.finish(first, answer(first, "look"))
	s.shows(first, twoPictures...)
	second := s.shown(2, twoPictures[1:])
	s.finish(second, answer(second, "look"))
	s.shows(second, twoPictures[1])
	s.must(s.Forget(t.Context(), message("room", 1).ID))
	s.shows(first)
	s.shows(second, twoPictures[1])
	_, err := s.Clear(t.Context(), "room")
	s.must(err)
	s.shows(second)
}

func picturesReplaced(t *testing.T, s store) {
	r := s.shown(1, twoPictures)
	s.note(r, core.Note{Verdict: &core.Verdict{Outcome: done, Text: "look"}, Pictures: twoPictures[1:]})
	s.shows(r, twoPictures[1])
	s.must(s.Reopen(t.Context(), r.ID))
	s.shows(r)
}

func picturesOfNothing(t *testing.T, s store) {
	silent := s.shown(1, twoPictures)
	s.must(s.Finish(t.Context(), silent.ID, silent.Epoch, done, core.Memory{}))
	s.shows(silent)
	gone := s.shown(2, twoPictures)
	s.must(s.Forget(t.Context(), message("room", 2).ID))
	s.must(s.Finish(t.Context(), gone.ID, gone.Epoch, done, answer(gone, "look")))
	s.shows(gone)
}
