package parley

import (
	"context"
	"fmt"
	"strings"
	"time"

	"parley/config"
	"parley/core/price"
	"parley/internal/sections"
	"parley/models/prices"
)

// priced is a model that the configuration names, with its price.
type priced struct {
	key   string // in the configuration
	name  string // provider/model
	task  sections.Ability
	price price.Price
	known bool
	given bool // the configuration sets the price
}

// priceModels returns the models that can be asked, with their prices on a day.
func priceModels(cfg config.Config, on time.Time) (all []priced) {
	add := func(key string, provider config.Provider, model string, p config.Price, task sections.Ability) {
		m := priced{key: key, name: string(provider) + "/" + model, task: task}
		if provider == config.ProviderDemo {
			m.name, m.known = string(provider), true
		}
		if given, ok := p.Given(); ok {
			m.price, m.known, m.given = given, true, true
		} else if cfg.AtHome(provider) && task != sections.Painting {
			find := prices.Tokens
			if task == sections.Transcription {
				find = prices.Sound
			}
			m.price, m.known = find(string(provider), model, on)
		}
		all = append(all, m)
	}
	for i, m := range cfg.Models.Chat {
		provider := m.Provider
		if provider == config.ProviderAuto {
			provider = cfg.LargeProvider()
		}
		add(fmt.Sprintf("models.chat[%d]", i), provider, m.Model, m.Price, sections.Answers)
	}
	if len(cfg.Models.Chat) == 0 {
		add("models.large", cfg.LargeProvider(), cfg.Models.Large.Model, cfg.Models.Large.Price, sections.Answers)
	}
	for _, s := range cfg.Slots() {
		if s.Model != "" {
			add(s.Key, cfg.SlotProvider(s.Slot), s.Model, s.Price, s.Task)
		}
	}
	return all
}

// checkPrices tells what the models cost, and from where that is known.
func checkPrices(cfg config.Config) part {
	return part{"prices", func(context.Context) (string, error) {
		var texts []string
		table := ""
		for _, m := range priceModels(cfg, time.Now()) {
			texts = append(texts, m.key+": "+m.String())
			if m.known && !m.given && m.name != string(config.ProviderDemo) {
				table = "; prices of " + prices.Date()
			}
		}
		return strings.Join(texts, "; ") + table, nil
	}}
}

// String returns the price for the owner.
func (m priced) String() string {
	switch {
	case !m.known:
		return "unknown, set " + m.key + ".price"
	case m.price == price.Price{}:
		return "free"
	case m.price.Hour > 0:
		return m.price.Hour.String() + " per hour"
	case m.price.Image > 0:
		return m.price.Image.String() + " per image"
	case m.task == sections.Embeddings:
		return m.price.Input.Of(1e6).String() + " per million tokens"
	}
	return fmt.Sprintf("%s in, %s out per million tokens", m.price.Input.Of(1e6), m.price.Output.Of(1e6))
}
