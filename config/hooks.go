package config

import (
	"fmt"

	"parley/internal/sections"
)

// Hook has the agent do something when another program calls it.
type Hook struct {
	// A short name, which ends the address: lower-case letters, digits and hyphens.
	Name string `yaml:"name"`
	// What calls must bring as "Authorization: Bearer SECRET": at least 16 characters. Empty = no calls are accepted.
	Secret Secret `yaml:"secret"`
	// Where: a group or channel, or an account for its direct chat. The agent must have had a message there.
	Room Place `yaml:"room"`
	// What the agent is asked to do. {{build.status}} is a value of the JSON body, in quotation marks. The whole body comes with it as a
	// file. It answers with the rights of a guest.
	Prompt string `yaml:"prompt"`
	// Instead of prompt: what it says, without asking the model.
	Text string `yaml:"text"`
	// How many calls are accepted in a minute.
	PerMinute int `yaml:"per_minute" default:"30"`
	// Calls in initiative.quiet_hours: wait = it is done when they end; drop = it is left out.
	Quiet QuietRule `yaml:"quiet" default:"wait"`
}

const shortestSecret = 16

func (d checker) checkHooks(all []Hook) {
	names := map[string]bool{}
	for i, h := range all {
		path := fmt.Sprintf("hooks[%d]", i)
		if d.broken(path) {
			continue
		}
		d.checkTask(path, h.Name, names, h.Room, h.Prompt, h.Text)
		sections.Reject(d.reject).Secret(path+".secret", h.Secret, nil, "set the secret alone, without spaces or line breaks")
		if n := len(h.Secret.Reveal()); n > 0 && n < shortestSecret {
			d.reject(path+".secret", "is shorter than 16 characters", "make a random one, for example with openssl rand -hex 32")
		}
		if h.PerMinute < 1 || h.PerMinute > 600 {
			d.reject(path+".per_minute", "is not between 1 and 600", "the default is 30")
		}
	}
}
