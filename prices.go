package parley

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/config"
	"parley/core/llm"
	"parley/core/quota"
	"parley/internal/sections"
	"parley/models/prices"
)

// priced is a model of the configuration with its price.
type priced struct {
	key   string // in the configuration
	name  string // provider/model
	task  sections.Ability
	price quota.Price
	known bool
	given bool   // the configuration sets the price
	as    string // it names a model that costs the same
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
		} else if p.As != "" {
			m.as = p.As
			like, name, _ := strings.Cut(p.As, "/")
			m.price, m.known = lookUp(task, like, name, on)
		} else if cfg.AtHome(provider) {
			m.price, m.known = lookUp(task, string(provider), model, on)
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

// lookUp returns the price of a model for a task by the table, which has none of images and speech.
func lookUp(task sections.Ability, provider, model string, on time.Time) (quota.Price, bool) {
	switch task {
	case sections.Painting, sections.Speech:
		return quota.Price{}, false
	case sections.Transcription:
		return prices.Sound(provider, model, on)
	}
	return prices.Tokens(provider, model, on)
}

// tariffs returns the names of the models in usage totals, and their prices.
func tariffs(cfg config.Config, models llm.Models) quota.Tariffs {
	t := quota.Tariffs{Chat: map[string]quota.Tariff{}}
	others := map[string]*quota.Tariff{
		"models.small": &t.Small, "models.vision": &t.Vision, "models.transcription": &t.Transcription, "models.image": &t.Image,
		"models.speech": &t.Speech, "models.embedding": &t.Embedding,
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

// requirePrices returns an error if the price of a model is that of one which is not in the table, or if there is a limit
// of money and a model whose price is unknown: each of them can be asked, and a limit that doesn't count one is none.
func requirePrices(cfg config.Config) error {
	limit := cfg.Limits.MoneyLimit()
	var wrong []error
	for _, m := range priceModels(cfg, time.Now()) {
		switch {
		case m.known:
		case m.as != "":
			wrong = append(wrong, fmt.Errorf("%s.price.as: the table has no price for %q%s", m.key, m.as, m.nearest()))
		case limit != "":
			wrong = append(wrong, fmt.Errorf("%s: the price of %s is unknown, but %s is a limit of money; %s", m.key, m.name, limit, m.remedy()))
		}
	}
	return errors.Join(wrong...)
}

// nearest returns the probable correction of a misspelled model name in "price: as", as the end of an error.
func (m priced) nearest() string {
	if m.task == sections.Painting {
		return ": it has none of images; set " + m.key + ".price: {image: 0.04} instead"
	}
	if near := prices.Nearest(m.as); len(near) > 0 {
		return "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return "; write a provider of the table (openai, anthropic, gemini, openrouter, groq, mistral, deepseek or xai), a slash, and its name for the model"
}

// remedy returns the setting to add for a model without a price.
func (m priced) remedy() string {
	text := "set " + m.key + ".price (0 if it costs nothing"
	switch m.task {
	case sections.Answers, sections.Embeddings:
		like := "openai/gpt-4o"
		if _, name, _ := strings.Cut(m.name, "/"); name != "" {
			if _, ok := prices.Tokens("openai", name, time.Now()); ok {
				like = "openai/" + name
			}
		}
		text += ", {as: " + like + "} if it costs as much as that model of the table"
	}
	return text + ")"
}

// checkPrices returns a check that reports the price of each model and the date of the table of prices.
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

// String returns the price as text for the owner.
func (m priced) String() string {
	switch {
	case !m.known:
		return "unknown, " + m.remedy()
	case m.price == quota.Price{}:
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
