package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/internal/sections"
)

// Parameters are those of each request to a model that answers.
type Parameters struct {
	// From 0 (most predictable) to 2 (most random). auto = the provider's default.
	Temperature *float64 `yaml:"temperature"`
	// Above 0 and at most 1: only the most likely tokens are considered, up to this probability together. auto = the provider's default.
	TopP *float64 `yaml:"top_p"`
	// The answer ends before any of these texts; at most 4.
	Stop []string `yaml:"stop"`
	// The same seed makes similar answers to the same question, as far as the provider can. auto = none.
	Seed *int `yaml:"seed"`
	// How much a reasoning model thinks: none, minimal, low, medium, high, xhigh or max; most models take only some of them. auto = the
	// provider's default.
	ReasoningEffort *Effort `yaml:"reasoning_effort"`
	// How many tokens the model may think before it answers, with anthropic (at least 1024) and gemini. They are billed as output. 0 = none. auto =
	// none with anthropic, unless reasoning_effort is set; with gemini, the model decides.
	ThinkingBudget *int `yaml:"thinking_budget"`
	// More keys of the request's body, for parameters without a key here, such as {top_k: 40}. null removes a key that Parley adds by itself, such as
	// {stream_options: null}.
	ExtraBody Object `yaml:"extra_body"`
}

// Effort is the amount of reasoning of a model.
type Effort string

// Words lists the values.
func (Effort) Words() []string {
	return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"}
}

// Extra returns the additional keys of a request's body, or nil.
func (p Parameters) Extra() (extra map[string]any) {
	_ = json.Unmarshal([]byte(p.ExtraBody), &extra) // it was made from values; without any it is empty
	return extra
}

// given returns the keys of the parameters that are set.
func (p Parameters) given() (keys []string) {
	for _, e := range entries(reflect.ValueOf(p)) {
		if !e.value.IsZero() {
			keys = append(keys, e.key)
		}
	}
	return keys
}

// maxStop is the maximum number of stop texts that chat completions accept.
const maxStop = 4

// reservedBody returns the keys that requests of some wire have from Parley itself.
func reservedBody() []string {
	return append(removableBody(), "model", "messages", "input", "contents", "system", "instructions", "systemInstruction", "tools", "stream")
}

// removableBody returns those of them that requests can do without.
func removableBody() []string {
	return []string{"stream_options", "store", "include", "max_tokens", "max_completion_tokens", "max_output_tokens"}
}

// checkParameters checks the parameters of a model of provider: their values, and whether its requests have them.
func (d checker) checkParameters(c *Config, path string, provider Provider, p Parameters) {
	if t := p.Temperature; t != nil && !(*t >= 0 && *t <= 2) {
		d.reject(path+".temperature", "is not between 0 and 2", "set auto for the provider's default")
	}
	if t := p.TopP; t != nil && !(*t > 0 && *t <= 1) {
		d.reject(path+".top_p", "is not above 0 and at most 1", "set auto for the provider's default")
	}
	if p.Seed != nil && *p.Seed < 0 {
		d.reject(path+".seed", "is negative", "set auto for none")
	}
	if b := p.ThinkingBudget; b != nil && *b < 0 {
		d.reject(path+".thinking_budget", "is negative", "set 0 for none, or auto for the provider's default")
	}
	if len(p.Stop) > maxStop {
		d.reject(path+".stop", fmt.Sprintf("has more than %d texts", maxStop), "remove some")
	}
	for i, text := range p.Stop {
		if text == "" {
			d.reject(fmt.Sprintf("%s.stop[%d]", path, i), "is empty", "remove it")
		}
	}
	for _, key := range reservedBody() {
		if v, ok := p.Extra()[key]; ok && (v != nil || !slices.Contains(removableBody(), key)) {
			d.reject(path+".extra_body", "has "+key+", which Parley sets itself", "remove that key")
		}
	}
	d.checkWire(c, path, provider, p)
}

// checkWire rejects parameters that the requests of provider don't have.
func (d checker) checkWire(c *Config, path string, provider Provider, p Parameters) {
	section, ok := c.Provider(provider)
	d.checkBudget(path+".thinking_budget", provider, section, p.ThinkingBudget)
	if !ok {
		return
	}
	for _, key := range p.given() {
		if slices.Contains(section.Without, key) {
			d.reject(path+"."+key, "is a parameter that "+section.Title+" does not have", "remove it")
		}
	}
	if e := p.ReasoningEffort; e != nil && section.Efforts != nil && !slices.Contains(section.Efforts, string(*e)) {
		d.reject(path+".reasoning_effort", "is not an effort of "+section.Title, "write one of "+strings.Join(section.Efforts, ", "))
	}
}

// checkBudget rejects a budget that requests of provider don't have.
func (d checker) checkBudget(path string, provider Provider, section sections.Section, budget *int) {
	switch {
	case budget == nil || *budget < 0 || provider == ProviderDemo:
	case section.Budget == 0:
		d.reject(path, "is a parameter that the provider does not have", "set reasoning_effort instead")
	case *budget > 0 && *budget < section.Budget:
		d.reject(path, fmt.Sprintf("is less than %d", section.Budget), fmt.Sprintf("set at least %d tokens, or 0", section.Budget))
	}
}
