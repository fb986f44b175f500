package parley

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/config"
	"parley/core/llm"
	"parley/core/price"
	"parley/core/quota"
	"parley/internal/sections"
	"parley/models/prices"
)

// priced is a model of the configuration with its price.
type priced struct {
	key   string // in the configuration
	name  string // provider/model
	task  sections.Ability
	price price.Price
	known bool
	given bool // the configuration sets the price
}

// priceModels returns the models that can be asked, with their prices on a day: those of the configuration, or else
// those of the table in models/prices. The table is not used for a provider at another address than its own, which may
// charge something else.
func priceModels(cfg config.Config, on time.Time) (all []priced) {
	add := func(key string, provider config.Provider, model string, p config.Price, task sections.Ability) {
		m := priced{key: key, name: string(provider), task: task, known: provider == config.ProviderDemo}
		if model != "" {
			m.name += "/" + model
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
		if s.Model != "" || s.Provider == providerEmbedded {
			add(s.Key, cfg.SlotProvider(s.Slot), s.Model, s.Price, s.Task)
		}
	}
	return all
}

// tariffs returns the names of the models in usage totals, and their prices.
func tariffs(cfg config.Config, models llm.Models) quota.Tariffs {
	t := quota.Tariffs{Chat: map[string]quota.Tariff{}}
	others := map[string]*quota.Tariff{
		"models.small": &t.Small, "models.vision": &t.Vision, "models.transcription": &t.Transcription, "models.image": &t.Image,
		"models.embedding": &t.Embedding,
	}
	for i, m := range priceModels(cfg, time.Now()) {
		tariff := quota.Tariff{Name: m.name, Price: m.price, Known: m.known}
		switch other := others[m.key]; {
		case other != nil:
			*other = tariff
		case len(cfg.Models.Chat) > 0:
			t.Chat[cfg.Models.Chat[i].Name] = tariff
		default:
			for _, named := range models.Answering() {
				t.Chat[named.Name] = tariff
			}
		}
	}
	return t
}

// requirePrices returns an error if there is a limit of money and a model whose price is unknown: each of them can be
// asked, and a limit that doesn't count one is none.
func requirePrices(cfg config.Config) error {
	limit := cfg.Limits.MoneyLimit()
	if limit == "" {
		return nil
	}
	var wrong []error
	for _, m := range priceModels(cfg, time.Now()) {
		if !m.known {
			wrong = append(wrong, fmt.Errorf("%s: the price of %s is unknown, but %s is a limit of money; set %s.price (0 if it costs nothing)", m.key, m.name, limit, m.key))
		}
	}
	return errors.Join(wrong...)
}

// checkPrices returns a check that tells what each model costs, and of which day the table of prices is.
func checkPrices(cfg config.Config) part {
	return part{"prices", func(context.Context) (string, error) {
		if err := requirePrices(cfg); err != nil {
			return "", err
		}
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

// String returns the price for people.
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
