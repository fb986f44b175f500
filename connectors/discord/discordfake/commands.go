package discordfake

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// commandName is the form of names of commands and options; letters must be lower case where there are two cases.
var commandName = regexp.MustCompile(`^[-_'\p{Ll}\p{Lo}\p{Lm}\p{N}]{1,32}$`)

// command is a registered application command.
type command struct {
	ID          string          `json:"id,omitempty"`
	Type        *int            `json:"type,omitempty"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Options     []commandOption `json:"options,omitempty"`
	Contexts    []int           `json:"contexts,omitempty"`
	Installs    []int           `json:"integration_types,omitempty"`
	Names       translations    `json:"name_localizations,omitempty"`
	Texts       translations    `json:"description_localizations,omitempty"`
}

// translations are a name or a description by Discord's codes of languages.
type translations map[string]string

type commandOption struct {
	Type         int    `json:"type"`
	Name         string `json:"name"`
	Description  string `json:"description"`
	Required     bool   `json:"required,omitempty"`
	Autocomplete bool   `json:"autocomplete,omitempty"`
	MaxLength    int    `json:"max_length,omitempty"`

	Names translations `json:"name_localizations,omitempty"`
	Texts translations `json:"description_localizations,omitempty"`
}

// languages are Discord's codes.
const languages = " id da de en-GB en-US es-ES es-419 fr hr it lt hu nl no pl pt-BR ro fi sv-SE vi tr cs el bg ru uk hi th zh-CN ja zh-TW ko "

// check refuses a text in an unknown language, and one of the wrong length or form.
func (t translations) check(longest int, form *regexp.Regexp) *apiError {
	for code, s := range t {
		n := len([]rune(s))
		if !strings.Contains(languages, " "+code+" ") || n == 0 || n > longest || form != nil && !form.MatchString(s) {
			return invalidForm("name_localizations", "APPLICATION_COMMAND_INVALID_NAME", "Invalid localization in "+code+": "+s)
		}
	}
	return nil
}

// WithoutCommands takes the scope applications.commands from the bot in a guild.
func (s *Server) WithoutCommands(guildID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mustGuild(guildID).noCommands = true
}

// Commands are the names of the commands that a guild's users see: the global ones, and those of the guild.
func (s *Server) Commands(guildID string) (names []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range append(slices.Clone(s.commands[""]), s.commands[guildID]...) {
		names = append(names, c.Name)
	}
	return names
}

// Translated are the names and the description of a global command in a language; empty if it has none.
func (s *Server) Translated(name, code string) (called, about string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands[""] {
		if c.Name == name {
			called, about = c.Names[code], c.Texts[code]
		}
	}
	return called, about
}

// Command has a user give a command with options (name, value, name, value …). It returns the interaction's id; "" if
// the user can't see such a command, or their client would not send it.
func (s *Server) Command(channelID, userID, name string, options ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command(commandInteraction, channelID, userID, name, options)
}

// Autocomplete has a user type into the last of the options.
func (s *Server) Autocomplete(channelID, userID, name string, options ...string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.command(autocompleteInteraction, channelID, userID, name, options)
}

// Menu has a user give a command of the menu of a message. It returns "" like Command.
func (s *Server) Menu(messageID, userID, name string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.mustMessage(messageID)
	return s.menu(3, m.channel, userID, name, messageID, object{"messages": object{messageID: s.messageObject(m)}})
}

// UserMenu has a user give a command of the menu of a user. It returns "" like Command.
func (s *Server) UserMenu(channelID, userID, name, about string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.menu(2, s.mustChannel(channelID), userID, name, about, object{"users": object{about: s.mustUser(about).object()}})
}

func (s *Server) menu(kind int, ch *channel, userID, name, target string, resolved object) string {
	c := s.offered(ch, kind, name)
	if c == nil {
		return ""
	}
	return s.interact(&interaction{kind: commandInteraction, user: s.mustUser(userID), channel: ch},
		object{"id": c.ID, "name": name, "type": kind, "target_id": target, "resolved": resolved})
}

// offered is the command of a kind that users see in a channel; nil if there is none.
func (s *Server) offered(ch *channel, kind int, name string) *command {
	all := slices.Clone(s.commands[""])
	if ch.guild != nil {
		all = append(all, s.commands[ch.guild.id]...)
	}
	at := slices.IndexFunc(all, func(c command) bool { return c.Name == name && c.kind() == kind })
	if at < 0 || ch.guild != nil && ch.guild.noCommands {
		return nil
	}
	return &all[at]
}

func (c command) kind() int {
	if c.Type == nil {
		return 1
	}
	return *c.Type
}

func (s *Server) command(kind int, channelID, userID, name string, values []string) string {
	ch := s.mustChannel(channelID)
	known := s.offered(ch, 1, name)
	if known == nil {
		return ""
	}
	given := map[string]string{}
	options := []object{}
	for i := 0; i+1 < len(values); i += 2 {
		o := object{"name": values[i], "type": 3, "value": values[i+1]}
		if kind == autocompleteInteraction && i+2 >= len(values) {
			o["focused"] = true
		}
		given[values[i]] = values[i+1]
		options = append(options, o)
	}
	for _, o := range known.Options {
		if o.Required && given[o.Name] == "" && kind == commandInteraction {
			return ""
		}
		delete(given, o.Name)
	}
	if len(given) > 0 {
		return ""
	}
	data := object{"id": known.ID, "name": name, "type": 1}
	if len(options) > 0 {
		data["options"] = options
	}
	return s.interact(&interaction{kind: kind, user: s.mustUser(userID), channel: ch}, data)
}

func (s *Server) getCommands(c *call) (int, any, *apiError) {
	g, e := s.commandScope(c)
	if e != nil {
		return 0, nil, e
	}
	return http.StatusOK, s.commandObjects(g), nil
}

// commandScope is the guild of a call about commands, or "".
func (s *Server) commandScope(c *call) (string, *apiError) {
	id := c.params["guild_id"]
	switch g := s.world.guilds[id]; {
	case c.params["application_id"] != s.bot.id:
		return "", refuse(http.StatusForbidden, 20012, "You are not authorized to perform this action on this application")
	case id != "" && (g == nil || g.noCommands):
		return "", missingAccess()
	}
	return id, nil
}

func (s *Server) commandObjects(scope string) []object {
	all := []object{}
	for _, c := range s.commands[scope] {
		o := object{"application_id": s.bot.id, "version": c.ID, "default_member_permissions": nil, "nsfw": false, "type": 1}
		var own object
		_ = json.Unmarshal(encode(c), &own) // it has just been encoded
		maps.Copy(o, own)
		all = append(all, o)
	}
	return all
}

// putCommands replaces all commands of a scope.
func (s *Server) putCommands(c *call) (int, any, *apiError) {
	var form []command
	if e := decode(c.body, &form); e != nil {
		return 0, nil, e
	}
	scope, e := s.commandScope(c)
	if e != nil {
		return 0, nil, e
	}
	if len(form) > 100 {
		return 0, nil, refuse(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)")
	}
	seen := map[string]bool{}
	for i, c := range form {
		if e := c.check(); e != nil {
			return 0, nil, e
		}
		if seen[c.Name] {
			return 0, nil, invalidForm("name", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
		}
		for code, name := range c.Names {
			if seen[code+" "+name] {
				return 0, nil, invalidForm("name_localizations", "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
			}
			seen[code+" "+name] = true
		}
		seen[c.Name], form[i].ID = true, s.nextID()
	}
	s.commands[scope] = form
	return http.StatusOK, s.commandObjects(scope), nil
}

func (c command) check() *apiError {
	if c.ID != "" || c.kind() > 3 {
		return notModelled("this type of command")
	}
	form := commandName
	if c.kind() > 1 {
		form = nil
	}
	if e := cmp.Or(c.Names.check(32, form), c.Texts.check(100, nil)); e != nil {
		return e
	}
	if c.kind() > 1 { // in a menu
		if n := len([]rune(c.Name)); n == 0 || n > 32 || c.Description != "" || len(c.Options) > 0 {
			return invalidForm("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name or description is invalid: "+c.Name)
		}
		return nil
	}
	if n := len([]rune(c.Description)); !commandName.MatchString(c.Name) || n == 0 || n > 100 {
		return invalidForm("name", "APPLICATION_COMMAND_INVALID_NAME", "Command name or description is invalid: "+c.Name)
	}
	optional := false
	for _, o := range c.Options {
		if e := cmp.Or(o.Names.check(32, commandName), o.Texts.check(100, nil)); e != nil {
			return e
		}
		if n := len([]rune(o.Description)); !commandName.MatchString(o.Name) || n == 0 || n > 100 {
			return invalidForm("options", "APPLICATION_COMMAND_INVALID_NAME", "Option name or description is invalid: "+o.Name)
		}
		if o.Required && optional {
			return invalidForm("options", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
		}
		optional = optional || !o.Required
	}
	return nil
}
