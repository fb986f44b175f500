package prompt

import (
	"fmt"
	"log/slog"
	"strings"

	"parley/core/action"
	"parley/core/text"
	"parley/internal/contain"
)

const maxCommandLine = 120 // characters of a description

// Commands lists the commands of plugins that the model answers in the turn s, one in each line, for the help text.
// Their text can come from outside (an MCP server), so it is shortened to one line and quoted. A plugin that panics is
// left out.
func Commands(plugins []action.Plugin, s action.TurnContext, log *slog.Logger) string {
	var b strings.Builder
	for _, p := range plugins {
		if p.Prompts == nil {
			continue
		}
		var all []action.PromptCommand
		if err := contain.Call("the plugin", func() error { all = p.Prompts(s); return nil }); err != nil {
			log.Warn("a plugin failed to list its prompts", "plugin", p.Name, "err", err)
		}
		for _, c := range all {
			use := text.OneLine(text.Clean(strings.TrimSpace("/"+c.Name+" "+c.Arguments)), maxCommandLine)
			fmt.Fprintf(&b, "- `%s`", strings.ReplaceAll(use, "`", "'"))
			if c.Description != "" {
				fmt.Fprintf(&b, ": %s", text.OneLine(text.Clean(c.Description), maxCommandLine))
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}
