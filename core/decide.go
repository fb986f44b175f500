package core

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"parley/core/access"
	"parley/core/action"
	"parley/core/answer"
	"parley/core/attachment"
	"parley/core/chat"
	"parley/core/generate"
	"parley/core/llm"
	"parley/core/prompt"
	"parley/core/quota"
	"parley/core/text"
)

// Bounds of the question whether to answer. It is asked for every message of a busy group, so it is short.
const (
	consider = 20 * time.Second // how long it may hold up a room
	overhear = 10               // messages that it shows the model
	excerpt  = 500              // characters of each
)

// decide applies the rules to a message whose author and room have access. The first rule that applies decides: what a person has
// ordered (muted, unfollowed) comes before what the configuration says of groups, but a direct address ends an unfollowed silence.
func (c *Config) decide(m chat.Message, a chat.Attention) access.Decision {
	switch {
	case a == chat.Muted:
		return access.No
	case m.Place.Kind.Private(), c.Access.IsAlways(m), m.Addressed:
		return access.Yes
	case a == chat.Unfollowed:
		return access.No
	case a != chat.Ambient && c.Access.GroupIn(m.Place) != access.GroupAmbient:
		return access.ContextOnly
	case c.Models.Transcriber == nil && m.Unheard():
		return access.ContextOnly // there is nothing to judge it by
	case c.Agent.IsCalled(m.Text):
		return access.Yes
	}
	return access.Maybe
}

// wanted returns whether the run's message gets an answer, and asks the model if rules could not say. Users see nothing of that, and it does
// not claim the room: until the answer is yes, an answer that is under way is not interrupted. An error leaves the run to the
// next attempt.
func (dg *deciding) wanted() (bool, error) {
	if dg.x.Settle() != nil {
		return true, nil // stopped, or a later turn has the room: the claim says which
	}
	ctx, cancel := context.WithTimeoutCause(dg.x.life, consider, chat.ErrTimeout)
	defer cancel()
	turn, err := dg.x.prep.recall(ctx)
	if err != nil {
		return false, fmt.Errorf("recall %s: %w", dg.x.run.Room, err)
	}
	dg.x.turn = turn
	claimed, err := dg.considered(ctx, &turn)
	if claimed {
		return true, nil
	}
	var text string
	if err == nil {
		text, err = dg.decision(ctx, turn)
	}
	if dg.x.life.Err() != nil {
		return false, context.Cause(dg.x.life)
	}
	return dg.decided(prompt.Decisive(text), err)
}

// decision returns what the small model says when it is asked whether to answer.
func (dg *deciding) decision(ctx context.Context, s action.TurnContext) (string, error) {
	req, err := dg.question(ctx, s)
	if err != nil {
		return "", err
	}
	return dg.x.rt.small(ctx, req)
}

// considered counts the message before anything is paid for it, and has voice messages transcribed. It reports whether an action claims
// the turn: then no model is asked.
func (dg *deciding) considered(ctx context.Context, s *action.TurnContext) (claimed bool, err error) {
	voices := dg.x.prep.reading.HasUnread(*s, attachment.Voice)
	if _, _, claimed = dg.x.prep.claimant(*s); claimed && !voices {
		return true, nil
	}
	if err := dg.x.countMessage(ctx); err != nil {
		return false, err
	}
	if err := dg.x.risk.During("media", voices, func() { dg.x.prep.reading.Read(ctx, s, attachment.Voice) }); err != nil {
		return false, err
	}
	dg.x.turn = *s
	_, _, claimed = dg.x.prep.claimant(*s)
	return claimed, nil
}

// decided acts on the word that the model answered with. Without one, the agent stays silent: a group would rather miss an answer
// than get one that no person wanted.
func (dg *deciding) decided(word string, err error) (bool, error) {
	var over *quota.LimitError
	switch {
	case errors.As(err, &over): // not reported to the author, who did not address the agent
		dg.x.rt.cfg.Log.Info("a limit is reached; the message is ignored", "run", dg.x.run.ID, "limit", over.Bucket)
		return false, nil
	case err != nil || word == "":
		dg.x.rt.counts.Undecided.Add(1)
		dg.x.rt.cfg.Log.Warn("the model did not decide whether to answer; not answering", "run", dg.x.run.ID, "err", err)
		return false, nil
	case word == "RESPOND":
		return true, nil
	}
	dg.x.gen.Trace.Actions = []string{word}
	if word != generate.Stop {
		return false, nil
	}
	return false, dg.x.unfollow()
}

// rememberSilence stores that it was decided to say nothing, and why. It is a memory of a kind of its own, which prompts don't show as a
// message.
func (dg *deciding) rememberSilence(v chat.Verdict) error {
	n := len(v.Actions)
	if v.Outcome.Status != answer.Ignored || n == 0 || !slices.Contains([]string{generate.Ignore, generate.None, generate.Stop}, v.Actions[n-1]) {
		return nil
	}
	m := chat.Memory{
		ID: chat.MemoryID(dg.x.run.ID) + "/ignored", Room: dg.x.run.Room, Kind: chat.IgnoredKind, Author: dg.x.rt.cfg.Agent.Entity(), Name: dg.x.rt.cfg.Agent.Name,
		Thought: cmp.Or(v.Thought, "The message does not need an answer."), Actions: v.Actions, Providers: v.Providers, At: time.Now(),
	}
	if n := len(dg.x.run.Inputs); n > 0 {
		m.InReplyTo = dg.x.run.Inputs[n-1]
	}
	return chat.Unless(dg.x.store.Remember(dg.x.life, dg.x.run.ID, m), chat.ErrNotFound) // the question is gone
}

// question returns the prompt of that question, with the end of the conversation.
func (dg *deciding) question(ctx context.Context, s action.TurnContext) (llm.Request, error) {
	var end []chat.Memory
	for _, m := range s.Recent[max(0, len(s.Recent)-overhear):] {
		if m.InTranscript() {
			end = append(end, prompt.WithTexts(m, func(t string) string { return text.Excerpt(t, excerpt) }))
		}
	}
	s.Recent = end
	return dg.x.rt.composer.Turn(s).Prompt(ctx, prompt.ShouldRespond, nil)
}
