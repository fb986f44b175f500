package prompt

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

// Request builds the prompt of an answer, most stable part first for the provider's prompt cache: stable context,
// conversation, current context, and the messages to answer. To fit the budget, first the oldest messages are dropped,
// then provider results are cut, by half each time. If that is not enough, the error is a [llm.Failure] with
// [llm.PromptTooLong]: the character or the question itself is too long.
func (st *Builder) Request(ctx context.Context) (llm.Request, error) {
	st.ask(ctx, func(spec action.ProviderSpec) bool { return !spec.Dynamic && !spec.Flat })
	limit := st.limit()
	over := 0
	for fragments := limit / share; fragments >= max(1, limit/share/16); fragments /= 2 {
		req, history := st.draft(fragments)
		if over = llm.EstimateTokens(req) - limit; over <= 0 {
			return st.shown(req), nil
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
			return st.shown(req), nil
		}
	}
	return llm.Request{}, &llm.Failure{Kind: llm.PromptTooLong, Err: fmt.Errorf("the prompt is %d tokens over the limit of %d", over, limit)}
}

// span is the position of the history in a prompt.
type span struct{ from, to int }

// draft builds the prompt with each provider's result cut to limit tokens. The current context is put right before the
// messages to answer, because it changes with every turn: placed before the conversation, it would end what the cache
// covers.
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

// AnsweredFrom returns the index in Recent of the first message to answer.
func AnsweredFrom(s action.TurnContext) int {
	if i := slices.IndexFunc(s.Recent, func(m chat.Memory) bool { return slices.Contains(s.Answered, m.ID) }); i >= 0 {
		return i
	}
	return len(s.Recent)
}

// shown returns req in the form that models take: it begins with the user, also where older messages were left out, and the last user message
// has the state's pictures. Whether the model can see them is decided later, for the model that is asked.
func (st *Builder) shown(req llm.Request) llm.Request {
	req.Messages = llm.BeginWithUser(req.Messages) // here, because a valid list is not copied later
	for i, t := range slices.Backward(req.Messages) {
		if t.Role == llm.RoleUser && !t.Context {
			req.Messages[i].Images = st.Images
			break
		}
	}
	return req
}
