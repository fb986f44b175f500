package answer

import (
	"fmt"
	"slices"
	"strings"

	"parley/core/text"
)

// The history is bounded, however much an action writes. If it exceeds the limits, the first and the newest texts stay,
// with a mark between them.
const (
	mostSaid   = 100      // texts, including the mark
	maxSaid    = 64 << 10 // total size of the texts, in bytes
	maxOneSaid = 2 << 10  // size of one text, in bytes
	firstSaid  = 10       // texts that always stay
)

// callbackHistory collects the outputs of calls, oldest first, trimmed, without immediate repetitions. The zero value
// is empty.
type callbackHistory struct {
	texts []string // append-only once returned
	bytes int
	left  int // number of omitted texts: texts[firstSaid] is then the mark
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

// shorten drops texts that are neither among the first nor in the newer half, so that the amortized cost per text is
// small.
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
