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
	longTurn = 4000 // characters that an earlier message keeps in a prompt
	Window   = 64   // memories that a prompt may hold
)

// WithTexts is m with each of its texts made shorter.
func WithTexts(m chat.Memory, shorter func(string) string) chat.Memory {
	m.Text = shorter(m.Text)
	m.Files = slices.Clone(m.Files)
	for i, f := range m.Files {
		m.Files[i].Text, m.Files[i].Description = shorter(f.Text), shorter(f.Description)
	}
	return m
}

// modelMessage is what a model is told of m.
func modelMessage(s action.TurnContext, m chat.Memory) llm.Message {
	switch {
	case m.Author == s.Agent.Entity():
		return llm.Message{Role: llm.RoleAssistant, Text: m.Text}
	case s.Private || m.Name == "":
		return llm.Message{Role: llm.RoleUser, Text: guard(m.PromptText(), contextTag)}
	}
	return llm.Message{Role: llm.RoleUser, Text: guard(s.Line(m), contextTag)}
}

// Conversation is the part of what was said that prompts hold.
type Conversation struct {
	Kept []chat.Memory
	Lost bool // more is left out than was summed up
}

// Keep takes what a summary does not tell of yet, as far as budget tokens go, and always the newest from asked on, each cut to
// longest tokens. Where it begins changes as seldom as it can: up to there, caches hold.
func Keep(recent []chat.Memory, asked int, summed chat.MemoryID, budget, longest int) Conversation {
	from := min(1+slices.IndexFunc(recent, func(m chat.Memory) bool { return m.ID == summed }), asked)
	c := Conversation{Lost: from == 0 && len(recent) == Window}
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

// lastMessages is the end of a transcript, in at most limit tokens: its last messages, or the beginning of the last one.
func lastMessages(transcript string, limit int) string {
	from := len(transcript)
	for from > 0 {
		at := lineBefore(transcript, from)
		for at > 0 && strings.HasPrefix(transcript[at:], "  ") { // it belongs to the line above
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

// lineBefore is where the line begins that ends before at.
func lineBefore(text string, at int) int { return strings.LastIndexByte(text[:at-1], '\n') + 1 }

// Older is what of recent no summary tells of yet, up to where the rest has at most budget tokens and half the window.
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
