package essentials

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

const (
	lastFacts   = 20 // facts in a prompt
	lastResults = 12 // results of actions in a prompt
	resultSize  = 600
)

// recentMessages provides the conversation for prompts in one text.
func recentMessages(_ context.Context, s action.TurnContext) (action.ProviderResult, error) {
	text := s.Transcript()
	if text == "" {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# Conversation\nThe last message is the newest.", Transcript: text, Own: true}, nil
}

// mostDetails is the maximum number of members of a group, besides the asker, whose saved facts the prompt contains.
const mostDetails = 10

// describeParticipants lists the participants and the author's relation to the agent. That relation follows from platform accounts
// only, never from stored details, which are claims of the users themselves. In a group, details are read for a few
// members only, to bound the prompt and the queries.
func (d Deps) describeParticipants(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	asks := text.Label(s.Message.Name)
	standing := "a guest"
	switch {
	case s.Owner:
		standing = "your owner"
	case s.Allowed:
		standing = "known to your owner"
	}
	if s.Private {
		if asks == "" {
			return action.ProviderResult{}, nil
		}
		text := fmt.Sprintf("You are talking to %q, who is %s.", asks, standing)
		accounts, err := access.AccountsOf(ctx, d.Store, s.Message.Author)
		if err != nil {
			return action.ProviderResult{}, fmt.Errorf("find linked accounts: %w", err)
		}
		noted, err := detailsOf(ctx, d.Store, accounts...)
		if noted != "" {
			text += " Saved facts: " + noted + "."
		}
		return action.ProviderResult{Text: text, Own: noted == ""}, err
	}
	seen, lines := map[chat.EntityID]bool{chat.EntityID(s.Agent.ID): true}, []string{}
	for _, m := range s.Recent {
		name := text.Label(m.Name)
		if seen[m.Author] || name == "" {
			continue
		}
		seen[m.Author] = true
		name = strconv.Quote(name) // the name could imitate the rest of the line
		if m.Author == s.Message.Author {
			name += ", who is asking and is " + standing
		}
		if len(lines) < mostDetails || m.Author == s.Message.Author {
			noted, err := detailsOf(ctx, d.Store, m.Author)
			if err != nil {
				return action.ProviderResult{}, err
			}
			if noted != "" {
				name += "; saved facts: " + noted
			}
		}
		lines = append(lines, name)
	}
	if len(lines) == 0 {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# People in this conversation\n" + dashes(lines)}, nil
}

// surroundings describes the room.
func (d Deps) surroundings(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	txt := strings.ReplaceAll(string(s.Room.Kind), "_", " ") + " chat"
	if name := text.Label(s.Room.Name); name != "" {
		txt += fmt.Sprintf(" %q", name)
	}
	txt += " on " + s.Room.Connector
	if s.Room.World != "" {
		w, err := d.Store.World(ctx, s.Room.World)
		if err != nil && !errors.Is(err, chat.ErrNotFound) {
			return action.ProviderResult{}, fmt.Errorf("read the world: %w", err)
		}
		if name := text.Label(w.Name); name != "" {
			txt += fmt.Sprintf(", in %q", name)
		}
	}
	article := "a"
	if strings.ContainsRune("aeiou", rune(txt[0])) {
		article = "an"
	}
	txt = "This is " + article + " " + txt + "."
	return action.ProviderResult{Text: txt, Values: map[string]string{"worldContext": txt}, Own: s.OwnPlace()}, nil
}

// settings lists the settings of the room. The turn has them already in most cases. The choice of a model is not one
// for the model to read.
func (d Deps) settings(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	notes, err := s.Settings, error(nil)
	if notes == nil {
		notes, err = d.Store.Notes(ctx, s.Room.ID, chat.SettingNote, chat.MaxNotes)
	}
	var lines []string
	for _, n := range notes {
		if n.Key != chat.ModelSetting {
			lines = append(lines, text.Label(n.Key)+": "+n.Text)
		}
	}
	if err != nil || len(lines) == 0 {
		return action.ProviderResult{}, err
	}
	return action.ProviderResult{Text: "# How you answer in this room\n" + dashes(lines)}, nil
}

// actionState lists the results of the agent's actions in earlier turns of the room.
func (d Deps) actionState(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	results, err := d.Store.Recent(ctx, s.Room.ID, chat.ActionResult, 0, lastResults)
	if err != nil {
		return action.ProviderResult{}, err
	}
	var lines []string
	for _, m := range results {
		if m.InReplyTo == s.Message.ID {
			continue // the results of this turn are in the prompt already
		}
		outcome := "done"
		if m.Failure != "" {
			outcome = "failed"
		}
		lines = append(lines, fmt.Sprintf("%s (%s): %s", strings.Join(m.Actions, ", "), outcome, text.Excerpt(m.Text, resultSize)))
	}
	if len(lines) == 0 {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# Results of your earlier actions\n" + dashes(lines)}, nil
}

// attachments provides the full text of the files, on request: the conversation itself contains only their beginning.
func attachments(_ context.Context, s action.TurnContext) (action.ProviderResult, error) {
	var lines []string
	for _, m := range slices.Backward(s.Attached) { // the latest first, because the end is cut off if it is too long
		for _, f := range m.Files {
			lines = append(lines, strings.Join([]string{strconv.Quote(text.Label(f.Name)) + " from " + strconv.Quote(text.Label(m.Name)), f.Title, f.Description, f.Text}, "\n"))
		}
	}
	if len(lines) == 0 {
		return action.ProviderResult{}, nil
	}
	return action.ProviderResult{Text: "# Files\n" + dashes(lines)}, nil
}
