package storagetest

import (
	"bytes"
	"testing"

	"parley/core/chat"
	"parley/core/llm"
	"parley/internal/require"
)

func fileChecks() []storeCheck {
	return []storeCheck{
		{"the files of an answer are deleted with it", filesStay},
		{"a later verdict replaces the files", filesReplaced},
		{"a run without an answer has no files", filesOfNothing},
		{"a file is read in parts", filesInParts},
	}
}

var twoFiles = []llm.File{{Name: "an \"ä\".png", Type: "image/png", Data: []byte("\x89PNG\x00\xff")}, {Type: "text/plain", Data: []byte("GIF")}}

// shown starts a run whose verdict comes with files.
func (s store) shown(n int, files []llm.File) chat.Run {
	s.t.Helper()
	r := s.start(s.opened("room", n).ID, "owner")
	s.note(r, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "look"}, Files: files})
	return r
}

func (s store) shows(r chat.Run, want ...llm.File) {
	s.t.Helper()
	for n, w := range want {
		b := require.Value(s.File(s.t.Context(), r.ID, n))(s.t)
		s.same("the file", b, w)
	}
	for _, n := range []int{-1, len(want)} {
		_, err := s.File(s.t.Context(), r.ID, n)
		s.fails(err, chat.ErrNotFound)
	}
}

func filesStay(t *testing.T, s store) {
	first := s.shown(1, twoFiles)
	s.shows(first, twoFiles...)
	s.note(first, chat.Note{Text: "more"})
	s.finish(first, answerOf(first, "look"))
	s.shows(first, twoFiles...)
	second := s.shown(2, twoFiles[1:])
	s.finish(second, answerOf(second, "look"))
	s.shows(second, twoFiles[1])
	s.must(s.Forget(t.Context(), message("room", 1).ID))
	s.shows(first)
	s.shows(second, twoFiles[1])
	require.Value(s.Clear(t.Context(), "room"))(s.t)
	s.shows(second)
}

func filesReplaced(t *testing.T, s store) {
	r := s.shown(1, twoFiles)
	s.note(r, chat.Note{Verdict: &chat.Verdict{Outcome: done, Text: "look"}, Files: twoFiles[1:]})
	s.shows(r, twoFiles[1])
	s.must(s.Reopen(t.Context(), r.ID))
	s.shows(r)
}

func filesOfNothing(t *testing.T, s store) {
	silent := s.shown(1, twoFiles)
	s.must(s.Finish(t.Context(), silent.ID, silent.Epoch, done, chat.Memory{}))
	s.shows(silent)
	gone := s.shown(2, twoFiles)
	s.must(s.Forget(t.Context(), message("room", 2).ID))
	s.must(s.Finish(t.Context(), gone.ID, gone.Epoch, done, answerOf(gone, "look")))
	s.shows(gone)
}

// filesInParts: WB-15, one byte of a large file is one byte.
func filesInParts(t *testing.T, s store) {
	data := bytes.Repeat([]byte("0123456789"), 1000)
	r := s.shown(1, []llm.File{twoFiles[0], {Name: "a.txt", Type: "text/plain", Data: data}})
	s.finish(r, answerOf(r, "look"))
	for _, c := range []struct{ from, length, want int64 }{
		{0, 1, 1}, {9_999, 1, 1}, {9_999, 2, 1}, {10_000, 1, 0}, {20_000, 5, 0}, {0, 0, 0}, {4, 500, 500}, {0, 1 << 40, 10_000},
	} {
		p := require.Value(s.FilePart(t.Context(), r.ID, 1, c.from, c.length))(s.t)
		if p.Name != "a.txt" || p.Type != "text/plain" || p.Size != 10_000 || int64(len(p.Data)) != c.want {
			t.Errorf("from %d, %d bytes: %q %q %d with %d bytes; want %d bytes of a.txt", c.from, c.length, p.Name, p.Type, p.Size, len(p.Data), c.want)
		} else if c.want > 0 && !bytes.Equal(p.Data, data[c.from:c.from+c.want]) {
			t.Errorf("from %d, %d bytes: other bytes; want those of the file", c.from, c.length)
		}
	}
	for _, n := range []int{-1, 2} {
		_, err := s.FilePart(t.Context(), r.ID, n, 0, 1)
		s.fails(err, chat.ErrNotFound)
	}
	s.must(s.Forget(t.Context(), message("room", 1).ID))
	_, err := s.FilePart(t.Context(), r.ID, 1, 0, 1)
	s.fails(err, chat.ErrNotFound)
}
