package prompt

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode"

	"parley/core/action"
	"parley/core/answer"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/contain"
)

// Request builds the prompt of an answer, most stable part first for the provider's prompt cache: stable context,
// conversation, current context, and the messages to answer. To fit the budget, first the oldest messages are dropped,
// then provider results are cut, by half each time. If that is not enough, it fails with a [llm.Failure] of the kind
// [llm.PromptTooLong]: the character or the question itself is too long.
func (st *Builder) Request(ctx context.Context) (llm.Request, error) {
	st.ask(ctx, func(spec action.ProviderSpec) bool { return !spec.Dynamic && !spec.Flat })
	limit := st.limit()
	over := 0
	for fragments := limit / share; fragments >= max(1, limit/share/16); fragments /= 2 {
		req, history := st.draft(fragments)
		if over = llm.EstimateTokens(req) - limit; over <= 0 {
			return st.shown(req, AnsweredFrom(st.turn)-(history.to-history.from)), nil
		}
		// In steps, so that the next prompts begin with the same message.
		step := max(1, min(st.c.Recall.History, limit)/4)
		more := (over+step-1)/step*step - over
		for over+more > 0 && history.from < history.to {
			over -= text.Tokens(req.Messages[history.from].Text) + llm.TokensPerMessage
			req.Messages = slices.Delete(req.Messages, history.from, history.from+1)
			history.to--
		}
		if over <= 0 {
			return st.shown(req, AnsweredFrom(st.turn)-(history.to-history.from)), nil
		}
	}
	return llm.Request{}, &llm.Failure{Kind: llm.PromptTooLong, Err: fmt.Errorf("the prompt is %d tokens over the limit of %d", over, limit)}
}

// span is the position of the history in a prompt.
type span struct{ from, to int }

// draft builds the prompt with each provider's result cut to limit tokens. The current context is put right before the
// messages to answer, because it changes with every turn: placed before the conversation, it would end the cached part.
func (st *Builder) draft(limit int) (llm.Request, span) {
	p := st.set[MessageHandler]
	v := st.values(p, func(s action.ProviderSpec) bool { return s.Stable }, limit)
	v.Texts["native"] = "yes"
	req := llm.Request{System: strings.TrimSpace(p.Execute(guarded(v, p.delimiters, p.Uses))), Tools: st.tools()}
	if !p.system {
		req.System = strings.TrimSpace(st.turn.Agent.System + "\n\n" + req.System)
	}
	req.Messages = make([]llm.Message, 0, len(st.turn.Recent)+3) // with the summary, the context and a beginning
	if st.turn.Summary != "" {
		req.Messages = append(req.Messages, contextTurn("Summary of the conversation so far: "+text.Quote(text.CutTokens(st.turn.Summary, limit))))
	}
	asked := AnsweredFrom(st.turn)
	history := span{from: len(req.Messages)}
	for _, m := range st.turn.Recent[:asked] {
		req.Messages = append(req.Messages, modelMessage(st.turn, m))
	}
	history.to = len(req.Messages)
	if now := st.fragments(func(s action.ProviderSpec) bool { return !s.Stable }, limit); now != "" {
		req.Messages = append(req.Messages, contextTurn(now))
	}
	for _, m := range st.turn.Recent[asked:] {
		req.Messages = append(req.Messages, modelMessage(st.turn, m))
	}
	return req, history
}

// Join adds messages to answer to the end of the turn, for prompts that are built from now on as a whole, with their pictures and other files. Those
// that were built before are continued with the messages that it returns.
func (st *Builder) Join(messages []chat.Memory, pictures, files []llm.File) (more []llm.Message) {
	if st.whole != nil {
		st.whole = slices.Concat(st.whole, messages)
	}
	st.turn.Recent = slices.Concat(st.turn.Recent, messages)
	st.Outputs = slices.DeleteFunc(st.Outputs, func(o Output) bool { return o.Transcript != "" }) // it is asked again
	for _, m := range messages {
		st.turn.Answered = append(slices.Clip(st.turn.Answered), m.ID)
		if len(m.Files) > 0 {
			st.turn.Attached = append(slices.Clip(st.turn.Attached), m)
		}
		more = append(more, modelMessage(st.turn, m))
	}
	last := &more[len(more)-1]
	last.Images, last.Files = pictures, files
	st.Images, st.Files = slices.Concat(st.Images, pictures), slices.Concat(st.Files, files)
	return more
}

// AnsweredFrom returns the index in Recent of the first message to answer.
func AnsweredFrom(s action.TurnContext) int {
	if i := slices.IndexFunc(s.Recent, func(m chat.Memory) bool { return slices.Contains(s.Answered, m.ID) }); i >= 0 {
		return i
	}
	return len(s.Recent)
}

// shown returns req in the form that models accept: it begins with the user, also if older messages were left out, and
// the last user message has the pictures. Pictures are removed later for a model without vision. oldest is the index in Recent of its oldest
// message.
func (st *Builder) shown(req llm.Request, oldest int) llm.Request {
	st.system, st.oldest = req.System, oldest
	req.Messages = llm.BeginWithUser(req.Messages) // here, because a valid list is not copied later
	for i, t := range slices.Backward(req.Messages) {
		if t.Role == llm.RoleUser && !t.Context {
			req.Messages[i].Images, req.Messages[i].Files = st.Images, st.Files
			break
		}
	}
	return req
}

// AsksForm reports whether a template asks for an answer in the form of a response with tags.
func (st *Builder) AsksForm(name string) bool { return st.set[name].delimiters.has("response") }

// withBeginning adds the beginning of an answer to a continuation prompt that lacks it, because the template does not
// use it, or because it was cut to fit. Without it, a model writes a different answer.
func withBeginning(text string, p preparedTemplate, beginning string) string {
	if p.Uses("partialAnswer") && strings.Contains(text, strings.TrimSpace(guard(beginning, p.delimiters))) {
		return text
	}
	return fmt.Sprintf(beginningForm, text, guard(beginning, tags{"beginning"}))
}

const beginningForm = `%s

<beginning>
%s
</beginning>

That is the beginning. Continue exactly where it ends, without repeating anything.`

// retryLine stands for the words of a user who retries the question of another user.
const retryLine = "Answer this again."

// Retried returns s, whose message is a retry, with the question at an index of Recent as its message. Identity and
// rights are those of the user who retries, whose words only quote the question of another: otherwise anyone could get
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

// AskedStore finds the run that answers a message. It fails with [chat.ErrNotFound] if there is none.
type AskedStore interface {
	RunOf(ctx context.Context, id chat.MemoryID) (chat.Run, error)
}

// LastAsked returns the last question to agent among recent: its index, and its run. Messages that the agent decided to
// ignore are no questions. It fails with [chat.ErrNotFound] if there is none, and with the error of the store.
func LastAsked(ctx context.Context, store AskedStore, agent chat.EntityID, recent []chat.Memory) (at int, run chat.Run, err error) {
	for at = len(recent) - 1; at >= 0; at-- {
		if recent[at].Author == agent {
			continue
		}
		run, err = store.RunOf(ctx, recent[at].ID)
		switch {
		case chat.Unless(err, chat.ErrNotFound) != nil:
			return 0, chat.Run{}, fmt.Errorf("find the last question: %w", err)
		case err == nil && run.Outcome.Status != answer.Ignored:
			return at, run, nil
		}
	}
	return 0, chat.Run{}, chat.ErrNotFound
}

// Decisive finds the decision in the output of a model for [ShouldRespond]: RESPOND, STOP, IGNORE, or "" if there is
// none. The content of an <action> counts; otherwise the first word in capitals, or else the first in small letters:
// models talk about their decision, and "no" in a sentence is no decision while "NO" is.
func Decisive(text string) string {
	meaning := map[string]string{
		"RESPOND": "RESPOND", "REPLY": "RESPOND", "YES": "RESPOND", "STOP": "STOP", "IGNORE": "IGNORE", "NONE": "IGNORE", "NO": "IGNORE",
	}
	if _, action, ok := strings.Cut(text, "<action>"); ok {
		text, _, _ = strings.Cut(action, "<")
	}
	words := strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) })
	for _, as := range []func(string) string{strings.Clone, strings.ToUpper} {
		for _, w := range words {
			if found := meaning[as(w)]; found != "" {
				return found
			}
		}
	}
	return ""
}

const maxCommandLine = 120 // characters of a description

// Commands lists the commands of plugins that the model answers in the turn s, one in each line, for the help text.
// Their text can come from outside (an MCP server), so it is shortened to one line and quoted.
func Commands(plugins []action.Plugin, s action.TurnContext, log *slog.Logger) string {
	var b strings.Builder
	for _, c := range CommandsOf(plugins, s, log) {
		use := text.OneLine(text.Clean(strings.TrimSpace("/"+c.Name+" "+c.Arguments)), maxCommandLine)
		fmt.Fprintf(&b, "- `%s`", strings.ReplaceAll(use, "`", "'"))
		if c.Description != "" {
			fmt.Fprintf(&b, ": %s", text.OneLine(text.Clean(c.Description), maxCommandLine))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// CommandsOf returns the commands of plugins that the model answers in the turn s, without those of a plugin that panics.
func CommandsOf(plugins []action.Plugin, s action.TurnContext, log *slog.Logger) (all []action.PromptCommand) {
	for _, p := range plugins {
		if p.Prompts == nil {
			continue
		}
		err := contain.Call("the plugin", func() error { all = append(all, p.Prompts(s)...); return nil })
		if err != nil {
			log.Warn("a plugin failed to list its prompts", "plugin", p.Name, "err", err)
		}
	}
	return all
}
