package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	tgbotapi "github.com/go-telegram-bot-api/telegram-bot-api/v5"

	"parley/core/chat"
	"parley/internal/lang"
)

// The longest texts of a profile, in characters.
const (
	longestDescription = 512
	longestAbout       = 120
)

// introduce sets the command menu and the texts of the bot's profile where they differ from the wanted ones: Telegram
// limits such requests, and keeps the values. Texts that are not configured stay as they are.
func (t *Telegram) introduce(ctx context.Context) error {
	var failed error
	for _, tag := range lang.Tags() {
		if failed == nil { // each language has two lists, so a server that refuses one is not asked for all
			failed = errors.Join(t.listCommands(ctx, "", tag), t.listCommands(ctx, groups, tag))
		}
	}
	return errors.Join(
		failed,
		t.describe(ctx, "Description", "description", t.config.Description),
		t.describe(ctx, "ShortDescription", "short_description", t.config.ShortDescription),
	)
}

// groups is the scope of the commands in groups.
const groups = `{"type":"all_group_chats"}`

// listCommands sets the commands for the clients' command menu: in a scope, or, if it is empty, where no other scope
// applies. English is for
// clients in all languages without a list of their own. In groups, clients send the commands whose answers concern only their author so that no one else sees either.
func (t *Telegram) listCommands(ctx context.Context, scope, tag string) error {
	type item struct {
		Command     chat.CommandName `json:"command"`
		Description string           `json:"description"`
		Ephemeral   bool             `json:"is_ephemeral,omitempty"`
	}
	var items, now []item
	texts := lang.In(tag).Section("command.")
	for _, c := range chat.Commands() {
		if scope != groups || !c.Name.Direct() {
			description := texts[string(c.Name)]
			items = append(items, item{c.Name, description, scope == groups && c.Private})
		}
	}
	params := tgbotapi.Params{}
	params.AddNonEmpty("scope", scope)
	if tag != lang.Tags()[0] {
		params["language_code"] = tag
	}
	if err := t.client.call(ctx, "getMyCommands", params, &now); err != nil {
		return err
	}
	if slices.Equal(items, now) {
		return nil
	}
	list, err := json.Marshal(items)
	if err != nil {
		return fmt.Errorf("list the commands: %w", err)
	}
	var done bool
	params["commands"] = string(list)
	return t.client.call(ctx, "setMyCommands", params, &done)
}

// describe sets a text of the profile: method is the end of the names of its methods, and field is its parameter.
func (t *Telegram) describe(ctx context.Context, method, field, text string) error {
	if text == "" {
		return nil
	}
	now := map[string]string{}
	if err := t.client.call(ctx, "getMy"+method, nil, &now); err != nil || now[field] == text {
		return err
	}
	var done bool
	return t.client.call(ctx, "setMy"+method, tgbotapi.Params{field: text}, &done)
}
