package mcp

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/text"
)

const (
	maxPrompts     = 50               // of one server
	maxPromptName  = 32               // characters of a command
	maxPromptText  = 32 << 10         // bytes of the text of a prompt
	promptLimit    = 15 * time.Second // to ask the server for it
	maxDescribed   = 120              // characters of a description in /help
	promptProvider = "MCP_PROMPT"
)

// prompt is a prompt of a server as a command.
type prompt struct {
	c       *client
	p       *sdk.Prompt
	command string // without the slash
}

// prompts returns the prompts of all servers that are available in s, as commands. A name that is taken, or that
// several prompts have, gets the server's before it. Names don't depend on s: a command means the same in all rooms.
func (p *plugin) prompts(s action.TurnContext) (all []prompt) {
	count := map[string]int{}
	for _, c := range p.clients {
		for _, pr := range c.view().prompts {
			count[commandName(pr.Name)]++
		}
	}
	used := map[string]bool{}
	for _, c := range p.clients {
		for _, pr := range c.view().prompts {
			name := commandName(pr.Name)
			if count[name] > 1 || slices.Contains(p.reserved, name) {
				name = commandName(c.cfg.Name + "_" + pr.Name)
			}
			if name != "" && !used[name] && !slices.Contains(p.reserved, name) {
				used[name] = true
				if c.available(s) {
					all = append(all, prompt{c, pr, name})
				}
			}
		}
	}
	return all
}

// commandName returns name as a command: lower-case letters, digits and underscores.
func commandName(name string) string {
	fit := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '_'
	}, strings.ToLower(strings.TrimSpace(name)))
	return strings.Trim(fit[:min(len(fit), maxPromptName)], "_")
}

// commands implements Prompts of [action.Plugin].
func (p *plugin) commands(s action.TurnContext) (all []action.PromptCommand) {
	for _, pr := range p.prompts(s) {
		var arguments []string
		var options []chat.CommandOption
		for _, a := range pr.p.Arguments {
			name := text.Label(a.Name)
			if !a.Required {
				name = "[" + name + "]"
			}
			arguments = append(arguments, name)
			if option := commandName(a.Name); option != "" {
				options = append(options, chat.CommandOption{Name: option, Description: text.OneLine(text.Visible(text.Label(a.Description)), maxDescribed), Required: a.Required})
			}
		}
		about := pr.p.Description
		if about == "" {
			about = pr.p.Title
		}
		all = append(all, action.PromptCommand{
			Name: pr.command, Options: options, Arguments: text.Brief(strings.Join(arguments, " "), maxDescribed), Description: text.OneLine(text.Visible(text.Label(about)), maxDescribed),
		})
	}
	return all
}

// promptText is a provider. It adds the text of a prompt to the turn of a message that begins with its command.
type promptText struct{ p *plugin }

// Spec implements [action.Provider].
func (promptText) Spec() action.ProviderSpec {
	return action.ProviderSpec{Name: promptProvider, Description: "What the command of an MCP server stands for.", Limit: promptLimit}
}

// Provide implements [action.Provider].
func (a promptText) Provide(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	word, rest, _ := strings.Cut(strings.TrimSpace(s.Message.Text), " ")
	name, ok := strings.CutPrefix(strings.ToLower(word), "/")
	if !ok {
		return action.ProviderResult{}, nil
	}
	all := a.p.prompts(s)
	i := slices.IndexFunc(all, func(p prompt) bool { return p.command == name })
	if i < 0 {
		return action.ProviderResult{}, nil
	}
	said, err := all[i].get(ctx, rest)
	if err != nil {
		return action.ProviderResult{Text: fmt.Sprintf("# Command\nThe user wrote the command /%s, which can't be carried out. Tell the user why: %s", name, text.Quote(err.Error()))}, nil
	}
	return action.ProviderResult{Text: fmt.Sprintf(
		"# Command\nThe user wrote the command /%s. It stands for this text of the MCP server %s. Do for the user what it asks:\n%s",
		name, text.Label(all[i].c.cfg.Name), text.Quote(said))}, nil
}

// get asks the server for the text of the prompt, with the arguments of a command. Its errors are sentences for the
// user.
func (p prompt) get(ctx context.Context, written string) (string, error) {
	arguments := argumentsOf(p.p.Arguments, written)
	var missing []string
	for _, a := range p.p.Arguments {
		if a.Required && arguments[a.Name] == "" {
			missing = append(missing, text.Label(a.Name))
		}
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("it needs %s, written behind the command", strings.Join(missing, " and "))
	}
	session := p.c.view().session
	if session == nil {
		return "", fmt.Errorf("the MCP server %s is not available at the moment", p.c.cfg.Name)
	}
	r, err := within(ctx, promptLimit, func(ctx context.Context) (*sdk.GetPromptResult, error) {
		return session.GetPrompt(ctx, &sdk.GetPromptParams{Name: p.p.Name, Arguments: arguments})
	})
	refused := (*jsonrpc.Error)(nil)
	switch {
	case errors.As(err, &refused):
		return "", fmt.Errorf("the MCP server %s refused it: %s", p.c.cfg.Name, p.c.serverText(refused.Message, maxDescription))
	case err != nil:
		p.c.log.Warn("a prompt of an MCP server has failed", "prompt", text.Brief(p.p.Name, 64), "err", p.c.redact(err.Error()))
		return "", fmt.Errorf("the MCP server %s did not answer", p.c.cfg.Name)
	}
	var lines []string
	for _, m := range r.Messages {
		lines = append(lines, messageText(m))
	}
	// The text is cleaned and cut here, and quoted where it enters the prompt.
	said := strings.TrimSpace(text.Clean(strings.Join(lines, "\n\n")))
	if said == "" {
		return "", errors.New("it stands for nothing")
	}
	return text.CutBytes(said, maxPromptText), nil
}

// messageText returns one message of a prompt as text. Messages of the assistant are marked.
func messageText(m *sdk.PromptMessage) (said string) {
	switch c := m.Content.(type) {
	case *sdk.TextContent:
		said = c.Text
	case *sdk.EmbeddedResource:
		if c.Resource != nil && len(c.Resource.Blob) == 0 {
			said = c.Resource.Text
		}
	case *sdk.ResourceLink:
		said = fmt.Sprintf("[resource %s: %s]", line(c.URI), text.Label(c.Name))
	}
	if said == "" {
		said = "[a file that can't be read here]"
	}
	if m.Role == "assistant" {
		said = "Assistant: " + said
	}
	return said
}

// word is a word of a command, or several in quotes.
var word = regexp.MustCompile(`[A-Za-z0-9_.-]+="[^"]*"|"[^"]*"|\S+`)

// argumentsOf assigns the words after a command to arguments: name=value where the prompt has that name, then the
// others in their order. The last one takes all that is left, so that a sentence needs no quotes.
func argumentsOf(known []*sdk.PromptArgument, written string) map[string]string {
	values := map[string]string{}
	named := func(name string) int { // its own name, or that of an option of a platform
		at := slices.IndexFunc(known, func(a *sdk.PromptArgument) bool { return a.Name == name })
		if at < 0 {
			at = slices.IndexFunc(known, func(a *sdk.PromptArgument) bool { return commandName(a.Name) == name })
		}
		return at
	}
	var words []string
	for _, w := range word.FindAllString(written, -1) {
		if name, value, ok := strings.Cut(w, "="); ok && named(name) >= 0 {
			values[known[named(name)].Name] = strings.Trim(value, `"`)
			continue
		}
		words = append(words, strings.Trim(w, `"`))
	}
	// The arguments that were not named, in the order of the prompt.
	var open []string
	for _, a := range known {
		if _, given := values[a.Name]; !given {
			open = append(open, a.Name)
		}
	}
	for i, name := range open {
		switch {
		case len(words) == 0:
		case i == len(open)-1:
			values[name] = strings.Join(words, " ")
		default:
			values[name], words = words[0], words[1:]
		}
	}
	return values
}
