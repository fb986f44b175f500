package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"parley/core/quota"
	"parley/internal/sections"
)

// Price is the price of a model, in US dollars. The zero value leaves that to the table of known prices.
type Price struct {
	// Per million input tokens.
	Input *quota.Rate `yaml:"input"`
	// Per million input tokens that the provider reads from its cache. auto = as input.
	Cached *quota.Rate `yaml:"cached"`
	// Per million input tokens that it writes to its cache. auto = as input.
	CacheWrite *quota.Rate `yaml:"cache_write"`
	// Per million output tokens.
	Output *quota.Rate `yaml:"output"`
	// Of a transcription: per minute of sound.
	Minute *quota.USD `yaml:"minute"`
	// Of image generation: per image.
	Image *quota.USD `yaml:"image"`
	// Instead of all of these: a provider and its name for a model, such as openai/gpt-4o. Its price is that of this model in the table of
	// known prices.
	As string `yaml:"as"`

	// Free is the price 0.
	Free bool `yaml:"-"`
}

// Given returns the price that the configuration sets in numbers; false if it sets none.
func (p Price) Given() (quota.Price, bool) {
	input := orZero(p.Input)
	given := quota.Price{
		Rates: quota.Rates{Input: input, Cached: input, CacheWrite: input, Output: orZero(p.Output)},
		Hour:  60 * orZero(p.Minute), Image: orZero(p.Image),
	}
	if p.Cached != nil {
		given.Cached = *p.Cached
	}
	if p.CacheWrite != nil {
		given.CacheWrite = *p.CacheWrite
	}
	return given, p != (Price{}) && p.As == ""
}

func orZero[T any](value *T) (zero T) {
	if value == nil {
		return zero
	}
	return *value
}

// decodePrice decodes auto, 0, or the section.
func (d *decoder) decodePrice(path string, n *node, into reflect.Value, form form) {
	switch {
	case n.kind == section:
		d.section(path, n, into)
	case n.text == "auto" && n.kind != number:
	case n.kind == number && n.text == "0":
		into.Set(reflect.ValueOf(Price{Free: true}))
	default:
		d.reject(path, "is not "+form.name, form.hint)
	}
}

// checkPrice requires the keys that a model for a task is billed by, and only those.
func (d checker) checkPrice(path string, p Price, task sections.Ability) {
	if p.Free || p == (Price{}) || d.broken(path) {
		return
	}
	needed, also := []string{"input", "output"}, []string{"cached", "cache_write"}
	switch task {
	case sections.Transcription, sections.Speech:
		needed, also = []string{"minute"}, nil
	case sections.Painting:
		needed, also = []string{"image"}, nil
	case sections.Embeddings:
		needed, also = []string{"input"}, nil
	}
	if p.As != "" {
		other := p
		other.As = ""
		if provider, model, ok := strings.Cut(p.As, "/"); !ok || provider == "" || model == "" {
			d.reject(path+".as", "is not a model of a provider", "write both, such as openai/gpt-4o")
		} else if other != (Price{}) {
			d.reject(path, "has both a price and as", "keep one of them")
		}
		return
	}
	for _, e := range entries(reflect.ValueOf(p)) {
		if e.key == "as" {
			continue
		}
		switch set := !e.value.IsNil(); {
		case set && !slices.Contains(needed, e.key) && !slices.Contains(also, e.key):
			d.reject(path+"."+e.key, "is not what such a model is billed by", "set "+strings.Join(needed, " and "))
		case !set && slices.Contains(needed, e.key):
			d.reject(path, "has no "+e.key, "set "+strings.Join(needed, " and "))
		}
	}
}

// checkPrices checks the prices of all models.
func (d checker) checkPrices(c *Config) {
	d.checkPrice("models.large.price", c.Models.Large.Price, sections.Answers)
	for i, m := range c.Models.Chat {
		d.checkPrice(fmt.Sprintf("models.chat[%d].price", i), m.Price, sections.Answers)
	}
	for _, s := range c.slots() {
		d.checkPrice(s.path+".price", s.Price, s.needs)
	}
}

// AtHome reports whether the models of a provider are asked at the provider's own address, as the configuration has it by default. What
// others cost who speak its API is unknown.
func (c Config) AtHome(name Provider) bool {
	if name == ProviderOpenAI {
		return c.Providers.OpenAI.BaseURL == openAIBase
	}
	s, ok := c.Provider(name)
	if !ok {
		return false
	}
	for _, e := range entries(reflect.ValueOf(s.Values).Elem()) {
		if e.key == "base_url" {
			return e.value.String() == e.fallback
		}
	}
	return false
}
