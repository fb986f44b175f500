package config

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"parley/internal/sections"
)

// maxChat is the maximum number of models that can answer: /model shows a button for each.
const maxChat = 20

// modelName matches the names that owners give to models; users type them after /model.
var modelName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,39}$`)

// Sees reports whether m is set to accept images.
func (m Model) Sees() bool { return m.Vision != nil && *m.Vision }

// answering returns the part of m that it has in common with models.large.
func (m ChatModel) answering() Model {
	return Model{Provider: m.Provider, Model: m.Model, MaxTokens: m.MaxTokens, Parameters: m.Parameters, Thinking: m.Thinking, Vision: m.Vision, Price: m.Price}
}

// firstChat makes the first of several models the large one, which other settings refer to. Both can't be set; the
// model that the shipped file takes from the environment doesn't count as set.
func (d *decoder) firstChat(c *Config) {
	if len(c.Models.Chat) == 0 {
		return
	}
	large := c.Models.Large
	env, _ := d.refs.getenv("OPENAI_MODEL") // the shipped file takes it from there, which sets nothing
	if large.Provider != ProviderAuto || large.Model != "" && large.Model != env || large.MaxTokens != 0 || len(large.given()) > 0 || large.Vision != nil || large.Thinking != thinkingStatus || large.Price != (Price{}) {
		d.reject("models.large", "is set, and so is models.chat", "keep one of them: the first of models.chat answers")
	}
	c.Models.Large = c.Models.Chat[0].answering()
}

// checkChat checks models.chat, including its fallbacks.
func (d checker) checkChat(c *Config) {
	if len(c.Models.Chat) > maxChat {
		d.reject("models.chat", fmt.Sprintf("has more than %d models", maxChat), "remove some")
	}
	var names []string
	for i, m := range c.Models.Chat {
		path := fmt.Sprintf("models.chat[%d]", i)
		switch {
		case m.Name == "":
			d.reject(path, "has no name", "give it one of your own, such as name: fast")
		case !modelName.MatchString(m.Name):
			d.reject(path+".name", "is not a name", "use at most 40 letters, digits, dots, dashes and underscores")
		case isDefaultName(m.Name):
			d.reject(path+".name", "is what people write to take their choice back", "choose another name")
		case slices.Contains(names, m.Name):
			d.reject(path+".name", "is the name of two models", "give each its own")
		}
		names = append(names, m.Name)
		if m.PromptTokens != 0 && m.PromptTokens < 1000 {
			d.reject(path+".prompt_tokens", "is less than 1000", "no question would fit; set 0 for agent.prompt_tokens")
		}
		provider := m.Provider
		if provider == ProviderAuto {
			provider = c.LargeProvider()
		}
		d.checkModel(c, path, provider, m.answering())
		agent := c.answersByAgent(provider)
		if !agent {
			d.checkProvider(c, namedSlot{Slot{Provider: provider, Model: m.Model}, path, "", sections.Answers})
		}
		d.checkAddress(c, path, provider, m)
		if i > 0 && m.Model == "" && provider != ProviderDemo && !agent {
			d.reject(path, "has no model", "write model: and the name that the provider has for it")
		}
	}
	for i, m := range c.Models.Chat {
		for j, f := range m.Fallback {
			d.checkFallback(fmt.Sprintf("models.chat[%d].fallback[%d]", i, j), m.Name, f, names)
		}
	}
	if cycle := fallbackCycle(c.Models.Chat); cycle != nil {
		i := slices.Index(names, cycle[0])
		d.reject(fmt.Sprintf("models.chat[%d].fallback", i), "is a circle: "+strings.Join(cycle, " → "), "remove one of them")
	}
}

// checkAddress checks the address and the key of an agent of the owner's own.
func (d checker) checkAddress(c *Config, path string, provider Provider, m ChatModel) {
	agent := c.answersByAgent(provider)
	section, _ := c.Provider(provider)
	reject := sections.Reject(d.reject)
	reject.URL(path+".url", m.URL)
	reject.Secret(path+".api_key", m.APIKey, nil, "set the key alone, without spaces or line breaks")
	switch {
	case m.URL == "" && agent && !toggleOf(section).given:
		d.reject(path, "is an agent without an address", "write url: and where it listens, or "+toggleOf(section).howOn())
	case m.URL != "" && !agent:
		d.reject(path+".url", "is only for agents of your own", "write provider: http, or set the base_url of the provider")
	case m.URL == "" && m.APIKey != "":
		d.reject(path+".api_key", "has no url that it is for", "set the key in providers, or url as well")
	}
	d.checkOwn(path, provider, agent, m)
}

// responses is the provider that can store conversations itself.
const responses Provider = "responses"

// checkOwn checks the keys of an agent of the owner's own.
func (d checker) checkOwn(path string, provider Provider, agent bool, m ChatModel) {
	only := map[string]bool{
		".protocol": m.Protocol != agentAGUI, ".history": m.History != historyFull && provider != responses, ".share": len(m.Share) > 0,
		".signing_key": m.SigningKey != "", ".token": m.Token != "",
	}
	for _, key := range slices.Sorted(maps.Keys(only)) {
		if only[key] && !agent {
			d.reject(path+key, "is only for agents of your own", "write provider: http, or remove it")
		}
	}
	for key, secret := range map[string]Secret{".signing_key": m.SigningKey, ".token": m.Token} {
		sections.Reject(d.reject).Secret(path+key, secret, nil, "set the key alone, without spaces or line breaks")
		if secret != "" && len(secret.Reveal()) < shortestSecret {
			d.reject(path+key, "is shorter than 16 characters", "make a random one, for example with openssl rand -hex 32")
		}
	}
}

// checkFallback checks one fallback of the model called name.
func (d checker) checkFallback(path, name, fallback string, names []string) {
	switch {
	case fallback == name:
		d.reject(path, "is the model itself", "name another one")
	case !slices.Contains(names, fallback):
		d.reject(path, "is not the name of a model in models.chat", d.nearestOf("models", fallback, names))
	}
}

// fallbackCycle returns a cycle of fallbacks, beginning and ending with the same name, or nil.
func fallbackCycle(all []ChatModel) []string {
	next := map[string][]string{}
	for _, m := range all {
		next[m.Name] = m.Fallback
	}
	done := map[string]bool{}
	var visit func(name string, way []string) []string
	visit = func(name string, way []string) []string {
		if i := slices.Index(way, name); i >= 0 {
			return append(way[i:], name)
		}
		if done[name] {
			return nil
		}
		way = append(way, name)
		for _, f := range next[name] {
			if cycle := visit(f, way); cycle != nil {
				return cycle
			}
		}
		done[name] = true
		return nil
	}
	for _, m := range all {
		if cycle := visit(m.Name, nil); len(cycle) > 2 {
			return cycle
		}
	}
	return nil
}
