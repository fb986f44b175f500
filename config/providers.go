package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/internal/nearest"
	"parley/internal/sections"
)

// Others are the sections of the providers besides OpenAI, like [Connectors].
type Others []sections.Section

// blank returns a configuration with empty sections. The capabilities of a section distinguish providers from
// platforms.
func blank(described []sections.Section) (c Config) {
	for _, s := range fresh(described) {
		if s.Can != nil {
			c.Providers.Others = append(c.Providers.Others, s)
		} else {
			c.Connectors = append(c.Connectors, s)
		}
	}
	return c
}

// Provider returns the section of a provider besides OpenAI.
func (c Config) Provider(name Provider) (sections.Section, bool) {
	i := slices.IndexFunc(c.Providers.Others, func(s sections.Section) bool { return s.Name == string(name) })
	if i < 0 {
		return sections.Section{}, false
	}
	return c.Providers.Others[i], true
}

// ProvidersOn returns the providers besides OpenAI that have credentials, or an address where none are needed.
func (c Config) ProvidersOn() (on Others) {
	for _, s := range c.Providers.Others {
		if toggleOf(s).given {
			on = append(on, s)
		}
	}
	return on
}

// LargeProvider returns the provider of the large model, never ProviderAuto.
func (c Config) LargeProvider() Provider {
	on := slices.DeleteFunc(c.ProvidersOn(), func(s sections.Section) bool { return s.Named })
	switch {
	case c.Models.Large.Provider != ProviderAuto:
		return c.Models.Large.Provider
	case c.OpenAIOn():
		return ProviderOpenAI
	case len(on) == 1 && (c.Models.Large.Model != "" || on[0].Agents):
		return Provider(on[0].Name)
	}
	return ProviderDemo
}

// SlotProvider returns the provider of a slot, never ProviderAuto.
func (c Config) SlotProvider(s Slot) Provider {
	large := c.LargeProvider()
	_, other := c.Provider(large)
	switch {
	case s.Provider != ProviderAuto:
		return s.Provider
	case other && !c.answersByAgent(large):
		return large
	}
	return ProviderOpenAI
}

// answersByAgent reports whether the models of p are agents, which are for nothing else.
func (c Config) answersByAgent(p Provider) bool {
	s, _ := c.Provider(p)
	return s.Agents
}

// LargeAgent reports whether the large model is an agent.
func (c Config) LargeAgent() bool { return c.answersByAgent(c.LargeProvider()) }

// checkProvider requires that a model's provider exists, is on, and has models for the task.
func (d checker) checkProvider(c *Config, s namedSlot) {
	given, provider := s.Provider != ProviderAuto, c.SlotProvider(s.Slot)
	key := s.path + ".provider"
	if s.path == "models.large" {
		provider = c.LargeProvider()
	} else if !given {
		key = s.path + ".model"
	}
	section, other := c.Provider(provider)
	toggle := openAISection(*c)
	if other {
		toggle = toggleOf(section)
	}
	switch {
	case provider == ProviderDemo && s.answers(), !given && s.Model == "":
	case provider == ProviderDemo:
		d.reject(key, "is a provider without such a model", "write "+c.able(s.needs)+", or leave it empty")
	case provider != ProviderOpenAI && !other:
		d.reject(key, "is not a provider", d.nearest(string(provider), c.providerNames()))
	case other && !slices.Contains(section.Can, s.needs):
		d.reject(key, fmt.Sprintf("is a model of %s, which has none for %s", section.Name, s.needs), "set "+s.path+".provider to "+c.able(s.needs))
	case other && section.Agents && !s.answers():
		d.reject(key, "is your own agent, which only answers people", "name a model of another provider")
	case !toggle.given && (given && s.answers() || s.Model != "") && !d.broken("providers"):
		if s.answers() {
			d.reject(key, "is a provider that is off", toggle.howOn())
		} else {
			d.reject(s.path+".model", "is a model of a provider that is off", toggle.howOn())
		}
	}
}

// nearest returns a hint with the provider that was probably meant, and all providers.
func (d *decoder) nearest(name string, known []string) string {
	return d.nearestOf("providers", name, known)
}

// nearestOf is nearest for names of another kind, such as models.
func (d *decoder) nearestOf(kind, name string, known []string) string {
	hint := "the " + kind + " are " + strings.Join(known, ", ")
	if near := nearest.Names(name, known, 3); len(near) > 0 {
		hint = fmt.Sprintf("did you mean %s? %s", near[0], hint)
	}
	return hint
}

func (c Config) providerNames() []string {
	names := []string{string(ProviderOpenAI), string(ProviderDemo)}
	for _, s := range c.Providers.Others {
		names = append(names, s.Name)
	}
	return names
}

// able returns the providers with models for a task, as the end of a hint.
func (c Config) able(to sections.Ability) string {
	names := []string{string(ProviderOpenAI)}
	for _, s := range c.Providers.Others {
		if slices.Contains(s.Can, to) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 1 {
		return names[0]
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// checkOthers rejects keys and addresses of providers that can't be used.
func (d checker) checkOthers(all Others) {
	reject := sections.Reject(d.reject)
	for _, s := range all {
		path := pathOf(s)
		for _, e := range entries(reflect.ValueOf(s.Values).Elem()) {
			if key, ok := e.value.Interface().(Secret); ok {
				reject.Secret(join(path, e.key), key, nil, "set the key alone, without spaces or line breaks")
			} else if e.key == "base_url" {
				reject.URL(join(path, e.key), e.value.String())
			}
		}
		if c, ok := s.Values.(sections.Checker); ok {
			c.Check(func(key, what, hint string) { d.reject(join(path, key), what, hint) })
		}
	}
}
