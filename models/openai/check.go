package openai

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"parley/core/llm"
)

// checkTokens is the most that the answer of a check may cost. Some servers refuse less.
const checkTokens = 16

// listed is how many models an error names.
const listed = 20

// What the errors of a check tell to set.
const (
	settingModel = "models.large.model (OPENAI_MODEL)"
	settingKey   = "providers.openai.api_key (OPENAI_API_KEY)"
	settingURL   = "providers.openai.base_url (OPENAI_BASE_URL)"
)

// Models asks the server for the names of its models, sorted. An error is a [*llm.Failure] unless ctx was done.
func (m *Model) Models(ctx context.Context) ([]string, error) {
	names, err := m.models(ctx)
	switch {
	case err == nil:
		return names, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, m.failure(fmt.Errorf("list models: %w", err))
}

func (m *Model) models(ctx context.Context) ([]string, error) {
	if m.invalid != nil {
		return nil, m.invalid
	}
	page, err := m.list.List(ctx)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(page.Data))
	for _, model := range page.Data {
		if model.ID != "" {
			names = append(names, model.ID)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

// Resolve says which model answers: the configured one, else the only one that the server has to write with. What it
// found is kept. Its error says what to set; it is a [*llm.Failure] unless ctx was done.
func (m *Model) Resolve(ctx context.Context) (string, error) {
	if m.invalid != nil {
		return "", m.failure(m.invalid)
	}
	m.mu.Lock()
	name := m.resolved
	m.mu.Unlock()
	if name != "" {
		return name, nil
	}
	names, err := m.Models(ctx)
	if err != nil {
		return "", err
	}
	name, err = m.only(names)
	if err != nil {
		return "", m.failure(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolved = name
	return name, nil
}

// only picks the one model that writes; servers list those for embeddings beside it.
func (m *Model) only(names []string) (string, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(strings.ToLower(name), "embed")
	})
	switch len(names) {
	case 0:
		return "", &setting{"the server has no models: load one, or set " + m.options.Setting}
	case 1:
		return names[0], nil
	}
	return "", &setting{"the server has several models: set " + m.options.Setting + " to one of " + pick(names)}
}

// pick lists what a model's name may be, as far as an error shows it.
func pick(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
	}
	return strings.Join(names, ", ")
}

// Check makes the smallest call that shows that answers come, and says which model answers where. Its error says the
// next step.
func (m *Model) Check(ctx context.Context) (string, error) {
	name, err := m.Resolve(ctx)
	if err == nil {
		err = m.ask(ctx)
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers at %s", name, place(m.base)), nil
}

// CheckListed reports whether the server lists the model, for models whose smallest call costs too much to try.
func (m *Model) CheckListed(ctx context.Context) (string, error) {
	name, err := m.Resolve(ctx)
	if err != nil {
		return "", err
	}
	names, err := m.Models(ctx)
	switch f, _ := errors.AsType[*llm.Failure](err); {
	case f != nil:
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	case err != nil:
		return "", err
	case !slices.Contains(names, name):
		return "", fmt.Errorf("the model %q does not exist at %s: set %s to one of %s", name, place(m.base), m.options.Setting, pick(names))
	}
	return fmt.Sprintf("%s is listed at %s; it will be tested on first use", name, place(m.base)), nil
}

// CheckEmbeds embeds one word.
func (m *Model) CheckEmbeds(ctx context.Context) (string, error) {
	vectors, err := m.Embed(ctx, []string{"OK"})
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers at %s with vectors of %d dimensions", m.options.Model, place(m.base), len(vectors[0])), nil
}

// ask waits for the first sign of an answer. Whatever comes is good.
func (m *Model) ask(ctx context.Context) error {
	err := errCut
	hello := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Say OK."}}}
	m.run(ctx, hello, checkTokens, func(_ llm.Chunk, failed error) bool {
		err = failed
		return false
	})
	return err
}

// nextStep says what to do about a failure.
func (m *Model) nextStep(ctx context.Context, f *llm.Failure) string {
	at := place(m.base)
	switch f.Kind {
	case llm.InsufficientCredits:
		return "the account at " + at + " is out of credit: top it up, or use another key"
	case llm.RateLimited:
		return at + " rate-limits this key: wait a minute, then check again"
	case llm.LocalInference:
		return "nothing answers at " + at + ": start the server (Ollama, LM Studio, vLLM …) or correct " + settingURL
	case llm.NoProvider:
		return m.admission(ctx, f)
	case llm.GenerationTimeout:
		return at + " is too slow: check again, or choose a smaller model"
	default:
		return at + " is unavailable: check that it is up and that " + settingURL + " is right"
	}
}

// admission says what to do where the server would not let the agent in.
func (m *Model) admission(ctx context.Context, f *llm.Failure) string {
	told, _ := errors.AsType[*report](f.Err)
	switch {
	case told != nil && told.set:
		return "the configuration is not complete"
	case told == nil || told.status != http.StatusNotFound:
		if m.options.APIKey == "" {
			return place(m.base) + " requires a key: set " + settingKey
		}
		return place(m.base) + " rejected the key: correct " + settingKey
	}
	names, err := m.Models(ctx)
	if err != nil || len(names) == 0 {
		return "nothing found at " + place(m.base) + ": correct " + settingURL + ", which usually ends with /v1, or " + m.options.Setting
	}
	return fmt.Sprintf("the model %q does not exist at %s: set %s to one of %s", m.options.Model, place(m.base), m.options.Setting, pick(names))
}
