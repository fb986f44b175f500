package answer

import (
	"fmt"
	"slices"
	"strings"

	"parley/core/text"
)

// A trail is bounded however much an action says. Where there is more, the first texts and the newest stay, with a mark
// between them.
const (
	mostSaid   = 100      // texts, with the mark
	maxSaid    = 64 << 10 // bytes of them
	maxOneSaid = 2 << 10  // and of each
	firstSaid  = 10       // texts that always stay
)

// callbackHistory are what calls said, oldest first, trimmed, without immediate repeats. The zero value is empty.
type callbackHistory struct {
	texts []string // never changed once handed out, only added to
	bytes int
	left  int // so many are left out: then texts[firstSaid] says so
}

func (s *callbackHistory) add(txt string) {
	txt = strings.TrimSpace(txt)
	if len(txt) > maxOneSaid {
		txt = text.CutBytes(txt, maxOneSaid) + "…"
	}
	if txt == "" || len(s.texts) > 0 && s.texts[len(s.texts)-1] == txt {
		return
	}
	s.texts, s.bytes = append(s.texts, txt), s.bytes+len(txt)
	if len(s.texts) > mostSaid || s.bytes > maxSaid {
		s.shorten()
	}
}

// shorten leaves out what is neither among the first nor in the newer half, so that it has little to do per text.
func (s *callbackHistory) shorten() {
	from := firstSaid
	if s.left > 0 {
		from++ // the mark
	}
	kept := slices.Clone(s.texts[:firstSaid])
	for i := from; i < len(s.texts)-1 && (len(s.texts)-i > mostSaid/2 || s.bytes > maxSaid*3/4); i++ {
		s.bytes -= len(s.texts[i])
		s.left++
		from = i + 1
	}
	kept = append(kept, fmt.Sprintf("… %d more …", s.left))
	s.texts = append(kept, s.texts[from:]...)
}

func (s *callbackHistory) list() []string { return slices.Clip(s.texts) }
