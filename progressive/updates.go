package progressive

import (
	"time"

	"parley/core/answer"
	"parley/core/chat"
)

// nextUpdate posts what calls took for important, each once, where nothing can be changed later and the last word is all that
// is shown otherwise. What has not gone out by the end is dropped: the last word is worth more.
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
