package prompt

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

const (
	longTurn = 4000 // maximum length of an earlier message in a prompt, in characters
	Window   = 64   // maximum number of memories in a prompt
)

// WithTexts returns m with shorter applied to each of its texts.
func WithTexts(m chat.Memory, shorter func(string) string) chat.Memory {
	m.Text = shorter(m.Text)
	m.Files = slices.Clone(m.Files)
	for i, f := range m.Files {
		m.Files[i].Text, m.Files[i].Description = shorter(f.Text), shorter(f.Description)
	}
	return m
}

// modelMessage converts m to a message of a prompt. In rooms with several users each message begins with the name of
// its author, because the model gets all of them in the user's role; the name is quoted, as users choose it.
func modelMessage(s action.TurnContext, m chat.Memory) llm.Message {
	switch {
	case m.Author == s.Agent.Entity():
		// Reminders and posts of hooks repeat texts of others.
		return llm.Message{ID: string(m.ID), Role: llm.RoleAssistant, Text: guard(m.Text, contextTag)}
	case s.Private && !m.Author.Automatic() || m.Name == "":
		return llm.Message{ID: string(m.ID), Role: llm.RoleUser, Text: guard(m.PromptText(), contextTag)}
	}
	return llm.Message{ID: string(m.ID), Role: llm.RoleUser, Text: guard(s.Line(m), contextTag)}
}

// conversation is the part of the room's messages that a prompt contains.
type conversation struct {
	Kept  []chat.Memory
	Lost  bool          // messages were dropped that no summary covers
	Start chat.MemoryID // the first of Kept, if messages before it were dropped
}

// Cut is the extent of a conversation in a prompt.
type Cut struct {
	Summed  chat.MemoryID // the last message that a summary covers; can be empty
	Start   chat.MemoryID // the Start of the room's prompt before; can be empty
	Budget  int           // tokens
	Longest int           // tokens of a message to answer
	// Steps frees a quarter of the budget, or of the window, if messages must be dropped: so the beginning of the
	// prompts of a room stays the same for some turns, and the provider's prompt cache stays valid.
	Steps bool
}

// Keep returns the messages that no summary covers yet, within the budget, always including the messages to answer:
// those from index asked on. Earlier ones are shortened to longTurn characters, those to answer only to cut.Longest
// tokens. Kept shares the memory of recent in the usual case: no message had to be shortened or left out.
func Keep(recent []chat.Memory, asked int, cut Cut) conversation {
	at := func(id chat.MemoryID) int {
		return slices.IndexFunc(recent, func(m chat.Memory) bool { return m.ID == id })
	}
	first := min(1+at(cut.Summed), asked)
	more := first == 0 && len(recent) == Window // older ones, which no summary covers
	from := min(max(first, at(cut.Start)), asked)
	// The window is full, so with each message one would be dropped, and each prompt would begin differently. A quarter
	// is dropped at once instead.
	if more && cut.Steps && at(cut.Start) < 0 {
		from = min(Window/4, asked)
	}
	cost, total := make([]int, len(recent)), 0
	for i := from; i < len(recent); i++ {
		if recent[i].InTranscript() {
			cost[i] = text.Tokens(shortened(recent[i]).PromptText()) + llm.TokensPerMessage
		}
		total += cost[i]
	}
	// For the same reason, a quarter of the budget is freed if any message is dropped.
	limit := cut.Budget
	if total > limit && cut.Steps {
		limit -= limit / 4
	}
	for ; from < asked && total > limit; from++ {
		total -= cost[from]
	}
	c := conversation{Lost: more || from > first, Kept: recent[from:len(recent):len(recent)]}
	if c.Lost && from < len(recent) {
		c.Start = recent[from].ID
	}
	asIs := func(i int) bool { // cost is 0 outside of the transcript
		return cost[i] > 0 && len(recent[i].Files) == 0 && len(recent[i].Text) <= longTurn && (i < asked || cost[i] <= cut.Longest)
	}
	for i := from; i < len(recent); i++ {
		if !asIs(i) {
			c.Kept = fitted(recent, from, asked, cut.Longest)
			break
		}
	}
	return c
}

// fitted returns the part of recent from an index on that is in the transcript, shortened like [Keep] does.
func fitted(recent []chat.Memory, from, asked, longest int) []chat.Memory {
	kept := make([]chat.Memory, 0, len(recent)-from)
	for i := from; i < len(recent); i++ {
		m := shortened(recent[i])
		if i >= asked {
			m = WithTexts(recent[i], func(t string) string { return text.CutTokens(t, longest) })
		}
		if m.InTranscript() {
			kept = append(kept, m)
		}
	}
	return kept
}

// shortened returns m as prompts contain it if it isn't to be answered.
func shortened(m chat.Memory) chat.Memory {
	return WithTexts(m, func(t string) string { return text.Excerpt(t, longTurn) })
}

// starts stores where the history begins in the prompts of rooms. A lost entry costs a prompt cache once, so it needs
// no store, and evicts any entry when there are too many. It is safe for concurrent use.
type starts struct {
	mu    sync.Mutex
	rooms map[chat.RoomID]chat.MemoryID
}

const mostStarts = 10_000

// get returns where the history of room began last; empty if that is unknown.
func (s *starts) get(room chat.RoomID) chat.MemoryID {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[room]
}

// set stores where the history of room begins; empty deletes it.
func (s *starts) set(room chat.RoomID, start chat.MemoryID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rooms, room)
	if start == "" {
		return
	}
	for other := range s.rooms {
		if len(s.rooms) < mostStarts {
			break
		}
		delete(s.rooms, other)
	}
	if s.rooms == nil {
		s.rooms = map[chat.RoomID]chat.MemoryID{}
	}
	s.rooms[room] = start
}

// Trim returns the messages of a turn that its prompts contain, after the last one that a summary covers. It continues
// from where the room's prompts began before. limit is as [Builder.Limit]. lost reports whether messages were dropped
// that no summary covers.
func (c *Composer) Trim(s action.TurnContext, summed chat.MemoryID, limit int) (kept []chat.Memory, lost bool) {
	limit = cmp.Or(limit, c.Recall.Prompt)
	longest := limit / 2 / max(1, len(s.Answered))
	in := Keep(s.Recent, AnsweredFrom(s), Cut{Summed: summed, Start: c.starts.get(s.Room.ID), Budget: min(c.Recall.History, limit), Longest: longest, Steps: true})
	c.starts.set(s.Room.ID, in.Start)
	return in.Kept, in.Lost
}

// lastMessages returns the end of a transcript within limit tokens: its last messages, or the beginning of the last
// one.
func lastMessages(transcript string, limit int) string {
	from := len(transcript)
	for from > 0 {
		at := lineBefore(transcript, from)
		for at > 0 && strings.HasPrefix(transcript[at:], "  ") { // a continuation line
			at = lineBefore(transcript, at)
		}
		message := transcript[at:from]
		if cost := text.Tokens(message); cost > limit && from == len(transcript) {
			return text.CutTokens(message, limit)
		} else if limit -= cost; limit < 0 {
			break
		}
		from = at
	}
	return transcript[from:]
}

// lineBefore returns the start of the line that ends before at.
func lineBefore(text string, at int) int { return strings.LastIndexByte(text[:at-1], '\n') + 1 }

// Older returns the messages of recent that should be summarized next: after them, the rest has at most budget tokens
// and half the window, so that the next summary is some time away.
func Older(recent []chat.Memory, summed chat.MemoryID, budget int) []chat.Memory {
	from, to := 0, len(recent)
	for i, m := range recent {
		if m.ID == summed {
			from = i + 1
		}
	}
	for to > from && len(recent)-to < Window/2 {
		if budget -= text.Tokens(recent[to-1].PromptText()) + llm.TokensPerMessage; budget < 0 {
			break
		}
		to--
	}
	return recent[from:to]
}
