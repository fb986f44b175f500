package wire

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

// Models asks the server for the names of its models, sorted. An error is a [*llm.Failure] unless ctx was done.
func (m *Endpoint) Models(ctx context.Context) ([]string, error) {
	names, err := m.models(ctx)
	switch {
	case err == nil:
		return names, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	}
	return nil, m.Failure(fmt.Errorf("list models: %w", err))
}

func (m *Endpoint) models(ctx context.Context) ([]string, error) {
	if m.Invalid != nil {
		return nil, m.Invalid
	}
	names, err := m.List(ctx)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "" })
	slices.Sort(names)
	return slices.Compact(names), err
}

// Resolve says which model answers: the configured one, else the only one that the server has to write with. What it
// found is kept. Its error says what to set; it is a [*llm.Failure] unless ctx was done.
func (m *Endpoint) Resolve(ctx context.Context) (string, error) {
	if m.Invalid != nil {
		return "", m.Failure(m.Invalid)
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
		return "", m.Failure(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.resolved = name
	return name, nil
}

// only picks the one model that writes; servers list those for embeddings beside it.
func (m *Endpoint) only(names []string) (string, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(strings.ToLower(name), "embed")
	})
	switch len(names) {
	case 0:
		return "", &setting{"the server has no models: load one, or set " + m.Settings.Model}
	case 1:
		return names[0], nil
	}
	return "", &setting{"the server has several models: set " + m.Settings.Model + " to one of " + pick(names)}
}

// pick lists what a model's name may be, as far as an error shows it.
func pick(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
	}
	return strings.Join(names, ", ")
}

// Check makes the smallest call of with, which is the model of m, that shows that answers come, and says which model answers
// where. Its error says the next step.
func (m *Endpoint) Check(ctx context.Context, with llm.Model) (string, error) {
	name, err := m.Resolve(ctx)
	if err == nil {
		err = ask(ctx, with)
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers at %s", name, Place(m.Base)), nil
}

// CheckListed reports whether the server lists the model, for models whose smallest call costs too much to try.
func (m *Endpoint) CheckListed(ctx context.Context) (string, error) {
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
		return "", fmt.Errorf("the model %q does not exist at %s: set %s to one of %s", name, Place(m.Base), m.Settings.Model, pick(names))
	}
	return fmt.Sprintf("%s is listed at %s; it will be tested on first use", name, Place(m.Base)), nil
}

// Reach lists the provider's models, to try its key and address.
func (m *Endpoint) Reach(ctx context.Context) (string, error) {
	names, err := m.Models(ctx)
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s lists %d models", Place(m.Base), len(names)), nil
}

// CheckEmbeds embeds one word.
func (m *Endpoint) CheckEmbeds(ctx context.Context, with llm.Embedder) (string, error) {
	vectors, err := with.Embed(ctx, []string{"OK"})
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f), err)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers at %s with vectors of %d dimensions", m.Model, Place(m.Base), len(vectors[0])), nil
}

// ask waits for the first sign of an answer. Whatever comes is good.
func ask(ctx context.Context, with llm.Model) error {
	hello := llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Say OK."}}, MaxTokens: checkTokens}
	for _, err := range with.Generate(ctx, hello) {
		return err
	}
	return ErrCut
}

// nextStep says what to do about a failure.
func (m *Endpoint) nextStep(ctx context.Context, f *llm.Failure) string {
	at := Place(m.Base)
	told, _ := errors.AsType[*report](f.Err)
	if m.Advice != nil && (told == nil || !told.set) {
		status := 0
		if told != nil {
			status = told.status
		}
		if advice := m.Advice(f.Kind, status); advice != "" {
			return advice
		}
	}
	switch f.Kind {
	case llm.InsufficientCredits:
		return "the account at " + at + " is out of credit: top it up, or use another key"
	case llm.RateLimited:
		return at + " rate-limits this key: wait a minute, then check again"
	case llm.LocalInference:
		return "nothing answers at " + at + ": start the server (Ollama, LM Studio, vLLM …) or correct " + m.Settings.URL
	case llm.NoProvider:
		return m.admission(ctx, f)
	case llm.GenerationTimeout:
		return at + " is too slow: check again, or choose a smaller model"
	default:
		return at + " is unavailable: check that it is up and that " + m.Settings.URL + " is right"
	}
}

// admission says what to do where the server would not let the agent in.
func (m *Endpoint) admission(ctx context.Context, f *llm.Failure) string {
	told, _ := errors.AsType[*report](f.Err)
	switch {
	case told != nil && told.set:
		return "the configuration is not complete"
	case told == nil || told.status != http.StatusNotFound:
		if m.APIKey == "" {
			return Place(m.Base) + " requires a key: set " + m.Settings.Key
		}
		return Place(m.Base) + " rejected the key: correct " + m.Settings.Key
	}
	names, err := m.Models(ctx)
	if err != nil || len(names) == 0 {
		return "nothing found at " + Place(m.Base) + ": correct " + m.Settings.URL + ", which usually ends with /v1, or " + m.Settings.Model
	}
	return fmt.Sprintf("the model %q does not exist at %s: set %s to one of %s", m.Model, Place(m.Base), m.Settings.Model, pick(names))
}
