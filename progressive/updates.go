package progressive

import (
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// nextUpdate returns the request that posts the next important update of a call (such as a link to sign in) as a message of
// its own. That is only done on platforms that can't edit messages, where otherwise nothing is visible before the end.
// Updates that are not posted by then are dropped, because the answer is more important than its progress.
func (m *Message) nextUpdate(v answer.View, now time.Time) (s step, ok bool) {
	if m.editor != nil || m.resumed || m.ended {
		return step{}, false
	}
	for i, text := range v.Important {
		h := m.partAt(chat.FirstUpdate + i)
		if h.state != absent && (h.state != unknown || !now.Before(h.nonceUntil)) {
			continue
		}
		if parts := m.sink.Render(answer.View{Segments: []answer.Segment{{Text: text}}}); len(parts) > 0 && parts[0].File == nil {
			return step{op: Post, index: chat.FirstUpdate + i, part: parts[0]}, true
		}
	}
	return step{}, false
}
