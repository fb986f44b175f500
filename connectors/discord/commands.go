package discord

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"parley/core/chat"
	"parley/internal/lang"
)

// Discord's numbers for commands.
const (
	textOption  = 3
	inGuild     = 0
	inBotDM     = 1
	guildMember = 0 // the installation in a server, not that of a user

	longestQuestion = 6000 // characters; Discord's maximum
	longestWhich    = 200
	mostCommands    = 100 // slash commands
)

// command is a slash command as it is registered.
type command struct {
	Name        string   `json:"name"`
	Description string   `json:"description"` // empty in menus
	Names       words    `json:"name_localizations,omitempty"`
	Texts       words    `json:"description_localizations,omitempty"`
	Type        int      `json:"type,omitempty"`
	Options     []option `json:"options,omitempty"`
	Contexts    []int    `json:"contexts,omitempty"` // where it can be given; a guild's commands have none
	Installs    []int    `json:"integration_types,omitempty"`
}

type option struct {
	Type        int    `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Names       words  `json:"name_localizations,omitempty"`
	Texts       words  `json:"description_localizations,omitempty"`
	Required    bool   `json:"required,omitempty"`
	Longest     int    `json:"max_length,omitempty"`
	Completes   bool   `json:"autocomplete,omitempty"` // the bot suggests values
}

// words are a text in other languages than English, by Discord's codes for them.
type words map[string]string

// locales are Discord's codes of the catalog's languages. It has none for Arabic.
func locales() map[string][]string {
	return map[string][]string{"de": {"de"}, "es": {"es-ES", "es-419"}, "fr": {"fr"}, "pt": {"pt-BR"}, "ja": {"ja"}, "zh": {"zh-CN"}}
}

// localized returns the sentence with this key of the catalog in English, and in the other languages of Discord.
func localized(key string) (english string, others words) {
	all, others := lang.Every(key), words{}
	for tag, codes := range locales() {
		for _, code := range codes {
			others[code] = all[tag]
		}
	}
	return all["en"], others
}

// newOption returns the option of a command. Its name in other languages is only shown: Discord sends the English one.
func newOption(command, name string, required bool, longest int) option {
	o := option{Type: textOption, Required: required, Longest: longest}
	o.Name, o.Names = localized("command." + name + ".name")
	o.Description, o.Texts = localized("command." + command + ".argument")
	return o
}

// commands returns the slash commands: one for questions, and those of messages and of plugins; and the commands in menus.
func commands(global bool, plugged []chat.CommandSpec) []command {
	all := []command{{Name: askName, Options: []option{newOption(askName, "question", true, longestQuestion)}}}
	for _, c := range chat.Commands() {
		one := command{Name: string(c.Name)}
		if c.Argument != "" {
			o := newOption(one.Name, "which", false, longestWhich)
			o.Completes = c.Name == chat.ModelCommand || c.Name == chat.ForgetCommand
			one.Options = []option{o}
		}
		all = append(all, one)
	}
	for i, c := range all {
		_, all[i].Names = localized("command." + c.Name + ".name")
		all[i].Description, all[i].Texts = localized("command." + c.Name)
	}
	for _, c := range plugged {
		if !slices.ContainsFunc(all, func(known command) bool { return known.Name == string(c.Name) }) && len(all) < mostCommands {
			all = append(all, pluggedCommand(c))
		}
	}
	about, me := command{Type: messageMenu}, command{Type: userMenu}
	about.Name, about.Names = localized("menu.about")
	me.Name, me.Names = localized("menu.me")
	all = append(all, about, me)
	for i := range all {
		if global {
			all[i].Contexts, all[i].Installs = []int{inGuild, inBotDM}, []int{guildMember}
		}
	}
	return all
}

// register registers the slash commands, if they are others than those that were registered last: for all servers, or for
// those of the configuration. Commands in servers that are no longer named are removed. A failure is logged, and the next
// start tries again; text commands work without.
func (d *Discord) register(ctx context.Context, app string, plugged []chat.CommandSpec) {
	memo, name := d.shards.Memo(), Name+"/"+app+"/commands"
	stored := map[string]string{} // the hash of the commands by server; "" for all servers
	text, err := memo.Kept(ctx, name)
	if err == nil && text != "" {
		err = json.Unmarshal([]byte(text), &stored)
	}
	if err != nil {
		d.log.Warn("can't read which slash commands are registered", "err", err)
	}
	wanted := map[string][]command{"": commands(true, plugged)}
	if len(d.config.CommandGuilds) > 0 {
		wanted = map[string][]command{}
		for _, guild := range d.config.CommandGuilds {
			wanted[guild] = commands(false, plugged)
		}
	}
	now := maps.Clone(stored)
	scopes := slices.AppendSeq(slices.Collect(maps.Keys(stored)), maps.Keys(wanted)) // servers that have commands, or are to have some
	slices.Sort(scopes)
	for _, scope := range slices.Compact(scopes) {
		if err := d.put(ctx, app, scope, wanted[scope], now); err != nil {
			d.log.Warn("can't register the slash commands; text commands work", "server", scope, "err", err)
		}
	}
	if maps.Equal(now, stored) {
		return
	}
	kept, err := json.Marshal(now)
	if err == nil {
		err = memo.Keep(ctx, name, string(kept))
	}
	if err != nil {
		d.log.Warn("can't store which slash commands are registered", "err", err)
	}
}

// put replaces the commands of a server, or those of all servers, unless hashes has the hash of the same ones, and records
// the new hash.
func (d *Discord) put(ctx context.Context, app, scope string, all []command, hashes map[string]string) error {
	in, err := json.Marshal(slices.Concat([]command{}, all))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(in)
	hash := hex.EncodeToString(sum[:8])
	if hashes[scope] == hash {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if err := d.client.do(ctx, http.MethodPut, commandsPath(app, scope), json.RawMessage(in), nil); err != nil {
		return fmt.Errorf("register commands: %w", err)
	}
	if hashes[scope] = hash; len(all) == 0 {
		delete(hashes, scope)
	}
	return nil
}

// withoutCommands returns the names of servers that the bot was added to without applications.commands, among the first ones
// or those of the configuration; "" for none. A failed request is ignored, because the check is about other things too.
func (d *Discord) withoutCommands(ctx context.Context, app string) string {
	type server struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	var all []server
	for _, id := range d.config.CommandGuilds {
		all = append(all, server{ID: id, Name: id})
	}
	if len(all) == 0 {
		_ = d.client.do(ctx, http.MethodGet, fmt.Sprintf("users/@me/guilds?limit=%d", mostChecked), nil, &all)
	}
	var names []string
	for _, s := range all[:min(len(all), mostChecked)] {
		var r *refusal
		if err := d.client.do(ctx, http.MethodGet, commandsPath(app, s.ID), nil, nil); errors.As(err, &r) && r.status == http.StatusForbidden {
			names = append(names, s.Name)
		}
	}
	return strings.Join(names, ", ")
}

// mostChecked is the number of servers that a check looks at.
const mostChecked = 10

// commandsPath returns the path of the commands of a server, or of those of all servers.
func commandsPath(app, scope string) string {
	if scope != "" {
		return "applications/" + app + "/guilds/" + scope + "/commands"
	}
	return "applications/" + app + "/commands"
}
