package prompt

import (
	"slices"
	"strings"

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

// modelMessage converts m to a message of a prompt.
func modelMessage(s action.TurnContext, m chat.Memory) llm.Message {
	switch {
	case m.Author == s.Agent.Entity():
		return llm.Message{Role: llm.RoleAssistant, Text: m.Text}
	case s.Private || m.Name == "":
		return llm.Message{Role: llm.RoleUser, Text: guard(m.PromptText(), contextTag)}
	}
	return llm.Message{Role: llm.RoleUser, Text: guard(s.Line(m), contextTag)}
}

// conversation is the part of the room's messages that a prompt contains.
type conversation struct {
	Kept []chat.Memory
	Lost bool // messages were dropped that no summary covers
}

// Keep returns the messages that no summary covers yet, within budget tokens, always including those from index asked
// on, each cut to longest tokens. Its beginning changes as rarely as possible, so that the provider's prompt cache
// stays valid.
func Keep(recent []chat.Memory, asked int, summed chat.MemoryID, budget, longest int) conversation {
	from := min(1+slices.IndexFunc(recent, func(m chat.Memory) bool { return m.ID == summed }), asked)
	c := conversation{Lost: from == 0 && len(recent) == Window, Kept: make([]chat.Memory, 0, len(recent)-from)}
	for i, m := range slices.Backward(recent[from:]) {
		if from+i < asked {
			m = WithTexts(m, func(t string) string { return text.Excerpt(t, longTurn) })
		} else {
			m = WithTexts(m, func(t string) string { return text.CutTokens(t, longest) })
		}
		if !m.InTranscript() {
			continue
		}
		if budget -= text.Tokens(m.PromptText()) + llm.TokensPerMessage; budget < 0 && from+i < asked {
			c.Lost = true
			break
		}
		c.Kept = append(c.Kept, m)
	}
	slices.Reverse(c.Kept)
	return c
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
// and half the window.
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
