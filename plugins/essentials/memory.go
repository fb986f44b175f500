package essentials

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"parley/core/access"
	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
	"parley/internal/lang"
	"parley/internal/search"
)

// commands returns /memory and /forget, which show users the data about them and delete it. They need no model,
// so they work during an outage and can't be talked out of.
func (d Deps) commands() []action.Command {
	return []action.Command{{Name: chat.MemoryCommand, Run: d.listMemory}, {Name: chat.ForgetCommand, Run: d.forget, Complete: d.completeForget}}
}

// remembered is one thing that the agent remembers about a person, with the function that removes it.
type remembered struct {
	text   string
	forget func(context.Context) error
}

// about returns the agent's memory of the author of a command, in its room: facts that it uses there, and
// details that apply everywhere. The order is stable, because /forget uses the numbers of /memory.
func (d Deps) about(ctx context.Context, c action.CommandCall) (all []remembered, err error) {
	here, elsewhere, err := d.factsFor(ctx, c.Room, c.Message.Author)
	if err != nil {
		return nil, fmt.Errorf("read facts: %w", err)
	}
	for _, n := range append(here, elsewhere...) {
		if n.About == "" || n.About != c.Message.Author {
			continue
		}
		all = append(all, remembered{
			text: text.OneLine(n.Text, factSize) + " " + d.origin(ctx, c, n),
			forget: func(ctx context.Context) error {
				return d.Store.SaveNote(ctx, chat.RoomNote{Room: n.Room, Kind: n.Kind, Key: n.Key})
			},
		})
	}
	accounts, err := access.AccountsOf(ctx, d.Store, c.Message.Author)
	if err != nil {
		return nil, fmt.Errorf("find linked accounts: %w", err)
	}
	for _, account := range accounts {
		noted, err := d.savedAbout(ctx, account)
		if err != nil {
			return nil, err
		}
		all = append(all, noted...)
	}
	return all, nil
}

// savedAbout returns the details of an account.
func (d Deps) savedAbout(ctx context.Context, account chat.EntityID) (all []remembered, err error) {
	e, err := d.Store.Entity(ctx, account)
	if chat.Unless(err, chat.ErrNotFound) != nil {
		return nil, fmt.Errorf("read the saved facts: %w", err)
	}
	for _, detail := range details {
		value := e.Details[detail.key]
		if value == "" {
			continue
		}
		all = append(all, remembered{
			text: lang.Say(ctx, "memory.everywhere", "what", lang.Say(ctx, "memory.about."+detail.key), "value", text.Label(value)),
			forget: func(ctx context.Context) error {
				changed := e
				changed.Details = map[string]string{detail.key: ""}
				_, err := d.Store.SaveEntity(ctx, changed)
				return err
			},
		})
	}
	return all, nil
}

// listMemory is /memory. With words, it lists only the entries that have one of them, in any form, with their numbers.
func (d Deps) listMemory(ctx context.Context, c action.CommandCall) (string, error) {
	all, err := d.about(ctx, c)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		return lang.Say(ctx, "memory.empty"), nil
	}
	asked := search.Question(c.Arguments)
	lines := []string{lang.Say(ctx, "memory.title")}
	for i, r := range all {
		if len(asked) == 0 || len(search.Rank([]search.Text{{Words: search.Words(r.text)}}, asked)) > 0 {
			lines = append(lines, fmt.Sprintf("%d. %s", i+1, r.text))
		}
	}
	if len(lines) == 1 {
		return lang.Say(ctx, "memory.no_match"), nil
	}
	return strings.Join(append(lines, "", lang.Say(ctx, "memory.how")), "\n"), nil
}

// forget is /forget, with a number or "all", or as a reply to a message.
func (d Deps) forget(ctx context.Context, c action.CommandCall) (string, error) {
	if c.Arguments == "" && c.Message.InReplyTo != "" {
		return d.forgetMessage(ctx, c)
	}
	all, err := d.about(ctx, c)
	if err != nil {
		return "", err
	}
	n, notNumber := strconv.Atoi(c.Arguments)
	switch {
	case strings.EqualFold(c.Arguments, "all"):
	case notNumber != nil:
		return lang.Say(ctx, "memory.forget_how"), nil
	case n < 1 || n > len(all):
		return lang.Say(ctx, "memory.no_number"), nil
	default:
		all = all[n-1 : n]
	}
	for _, r := range all {
		if err := r.forget(ctx); err != nil {
			return "", fmt.Errorf("forget a fact: %w", err)
		}
	}
	if len(all) == 0 {
		return lang.Say(ctx, "memory.nothing"), nil
	}
	return lang.Say(ctx, "memory.forgotten"), nil
}

// completeForget suggests the entries of /memory, by their numbers.
func (d Deps) completeForget(ctx context.Context, c action.CommandCall) (found []chat.Suggestion, err error) {
	all, err := d.about(ctx, c)
	for i, r := range all {
		n := strconv.Itoa(i + 1)
		found = append(found, chat.Suggestion{Label: n + ". " + r.text, Value: n})
	}
	return found, err
}

// forgetMessage forgets the message that a command replies to, with its answer and the notes made from it. Users can forget their
// own messages, owners all.
func (d Deps) forgetMessage(ctx context.Context, c action.CommandCall) (string, error) {
	m, err := d.Store.Memory(ctx, c.Message.InReplyTo)
	switch {
	case errors.Is(err, chat.ErrNotFound), err == nil && m.Room != c.Room.ID:
		return lang.Say(ctx, "memory.unknown"), nil
	case err != nil:
		return "", fmt.Errorf("find the message: %w", err)
	case m.Author != c.Message.Author && !c.Owner:
		return lang.Say(ctx, "memory.not_yours"), nil
	}
	if err := d.Store.Forget(ctx, m.ID); err != nil {
		return "", fmt.Errorf("forget the message: %w", err)
	}
	if c.Room.Kind == chat.API { // the page shows the stored messages
		return lang.Say(ctx, "memory.message_forgotten"), nil
	}
	return lang.Say(ctx, "memory.message_forgotten_here"), nil
}
