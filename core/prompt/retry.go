package prompt

import (
	"slices"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

// retryLine is what a model reads as the words of a person who retries the question of another.
const retryLine = "Answer this again."

// Retried returns s, whose message is a retry, with the question at a place of Recent in place of that. Identity and
// rights stay with the person who retries, whose words only quote the question of another: otherwise anyone could have
// an owner's question answered with the owner's rights.
func Retried(s action.TurnContext, at int) action.TurnContext {
	by, asked := s.Message, s.Recent[at]
	s.Recent = slices.Clone(s.Recent[:at+1])
	if asked.Author == by.Author {
		s.Message, s.Answered = asked, []chat.MemoryID{asked.ID}
		return s
	}
	by.Kind, by.InReplyTo, by.Text = chat.Said, asked.ID, retryLine
	by.Quoted = chat.Quoted{Name: text.Label(asked.Name), Text: text.OneLine(asked.PromptText(), chat.ShortQuote)}
	s.Recent = append(s.Recent, by)
	by.Quoted, by.Text, by.Files = asked.Quoted, asked.Text, asked.Files
	s.Message = by
	return s
}
