package telegramfake

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Transcript returns a chat as users read it: the messages outside of topics, then each topic with its name. Other contents than text
// are the names of their fields.
func (s *Server) Transcript(c Chat) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ch := s.must(c)
	var b strings.Builder
	for _, thread := range slices.Sorted(maps.Keys(ch.topics)) {
		if thread == 0 {
			continue
		}
		fmt.Fprintf(&b, "-- topic: %s\n%s", ch.topics[thread].name, ch.lines(thread))
	}
	return ch.lines(0) + b.String()
}

// lines are the messages of a topic, or those of none.
func (c *chat) lines(thread int) string {
	var b strings.Builder
	for _, m := range c.order {
		in := 0
		if m.topic {
			in = m.thread
		}
		if m.deleted || in != thread || m.service == "forum_topic_created" {
			continue
		}
		text := strings.ReplaceAll(m.now().Text, "\n", "\n    ")
		fields := slices.Sorted(maps.Keys(m.media))
		for name := range m.extra {
			fields = append(fields, name)
		}
		if m.service != "" {
			fields = append(fields, m.service)
		}
		if slices.Sort(fields); len(fields) > 0 {
			text = strings.TrimSpace("<" + strings.Join(fields, ", ") + "> " + text)
		}
		author := m.from.FirstName
		if m.to != nil {
			author += " (only " + m.to.FirstName + " sees this)"
		}
		fmt.Fprintf(&b, "%s: %s\n", author, text)
	}
	return b.String()
}
