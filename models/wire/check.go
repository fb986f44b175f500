package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"slices"
	"strings"

	"parley/core/llm"
	"parley/internal/nearest"
)

// checkTokens is the limit of an answer to a check. Some servers refuse lower limits.
const checkTokens = 16

// listed is the maximum number of models that an error names.
const listed = 20

// Models returns the names of the server's models, sorted. An error is a [*llm.Failure], or the cause of ctx if that
// was done.
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

// Resolve returns the model that answers: the configured one, or the only one of the server that writes text. It asks
// the server at most once successfully, and keeps the result. Its error names the settings to change; it is a
// [*llm.Failure], or the cause of ctx if that was done.
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

// only returns the one model that writes text. Local servers list embedding models too; they are recognized by their
// names.
func (m *Endpoint) only(names []string) (string, error) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.Contains(strings.ToLower(name), "embed")
	})
	switch len(names) {
	case 0:
		return "", &setting{llm.NoModel, "the server has no models: load one, or set " + m.Settings.Model}
	case 1:
		return names[0], nil
	}
	return "", &setting{llm.NoModel, "the server has several models: set " + m.Settings.Model + " to one of " + pick(names)}
}

// pick returns names as a list for an error message, shortened after listed.
func pick(names []string) string {
	if len(names) > listed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:listed], ", "), len(names)-listed)
	}
	return strings.Join(names, ", ")
}

// nearestNames returns the names that a wrong one was probably meant to be, or all of them if none is near.
func nearestNames(wrong string, names []string) string {
	near := nearest.Names(wrong, names, max(2, len(wrong)/4))
	if len(near) == 0 {
		return "one of " + pick(names)
	}
	return fmt.Sprintf("%s, the nearest of its %d models", strings.Join(near, " or "), len(names))
}

// Uses are the features that a model is used with; a check tries them as well. Each is advice for the owner if the model
// lacks the feature; if it is empty, the model is used without it.
type Uses struct{ Tools, Images string }

// Check makes the smallest request to with, which is the model of m, that shows that answers arrive: for a word, with a
// tool that does nothing and a small white image, if the model is used with such. It returns which model answers where.
// Its error begins with the next step for the owner.
func (m *Endpoint) Check(ctx context.Context, with llm.Model, uses Uses) (string, error) {
	name, err := m.Resolve(ctx)
	if err == nil {
		err = m.tryWith(ctx, with, uses)
	}
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.nextStep(ctx, f, name, uses), err)
	}
	if err != nil {
		return "", err
	}
	took := ""
	switch {
	case uses.Tools != "" && uses.Images != "":
		took = ", and takes tools and images"
	case uses.Tools != "":
		took = ", and takes tools"
	case uses.Images != "":
		took = ", and takes images"
	}
	if left := m.Left(); len(left) > 0 {
		took += "; it refuses " + strings.Join(left, ", ") + ", so requests are made without"
	}
	return fmt.Sprintf("%s answers at %s%s", name, Place(m.Base), took), nil
}

// CheckTools asks with for a word and offers it tools, all at once. It returns those that the server refuses, which it
// is not offered from then on.
func (m *Endpoint) CheckTools(ctx context.Context, with llm.Model, tools []llm.Tool) ([]Refused, error) {
	for _, err := range with.Generate(ctx, llm.Request{Messages: []llm.Message{{Role: llm.RoleUser, Text: "Say OK."}}, Tools: tools, MaxTokens: checkTokens}) {
		if f, ok := errors.AsType[*llm.Failure](err); ok {
			return nil, fmt.Errorf("%s: %w", m.remedy(ctx, f), err)
		} else if err != nil {
			return nil, err
		}
		break
	}
	return m.RefusedTools(), nil
}

// tryWith asks with uses. If the server refuses that without a reason that is known, it asks for less, to find out
// whether the tools or the images are the reason.
func (m *Endpoint) tryWith(ctx context.Context, with llm.Model, uses Uses) error {
	err := ask(ctx, with, uses)
	f, _ := errors.AsType[*llm.Failure](err)
	if f == nil || f.Kind != llm.ProviderIssue || f.Retry {
		return err
	}
	if uses.Images != "" && ask(ctx, with, Uses{Tools: uses.Tools}) == nil {
		return &llm.Failure{Kind: llm.NoVision, Err: f.Err}
	}
	if uses.Tools != "" && ask(ctx, with, Uses{}) == nil {
		return &llm.Failure{Kind: llm.NoTools, Err: f.Err}
	}
	return err
}

// CheckListed fails if the server does not list the model. It is for models whose smallest call costs too much to try,
// such as image generation.
func (m *Endpoint) CheckListed(ctx context.Context) (string, error) {
	name, err := m.Resolve(ctx)
	if err != nil {
		return "", err
	}
	names, err := m.Models(ctx)
	switch f, _ := errors.AsType[*llm.Failure](err); {
	case f != nil:
		return "", fmt.Errorf("%s: %w", m.remedy(ctx, f), err)
	case err != nil:
		return "", err
	case !slices.Contains(names, name):
		return "", fmt.Errorf("the model %q does not exist at %s: set %s to %s", name, Place(m.Base), m.Settings.Model, nearestNames(m.Model, names))
	}
	return fmt.Sprintf("%s is listed at %s; it will be tested on first use", name, Place(m.Base)), nil
}

// Reach lists the provider's models, which tries its key and address at no cost. Its error names the remedy.
func (m *Endpoint) Reach(ctx context.Context) (string, error) {
	names, err := m.Models(ctx)
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.remedy(ctx, f), err)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s lists %d models", Place(m.Base), len(names)), nil
}

// CheckEmbeds embeds one word and returns a text with the number of dimensions. Its error names the remedy.
func (m *Endpoint) CheckEmbeds(ctx context.Context, with llm.Embedder) (string, error) {
	vectors, err := with.Embed(ctx, []string{"OK"})
	if f, ok := errors.AsType[*llm.Failure](err); ok {
		return "", fmt.Errorf("%s: %w", m.remedy(ctx, f), err)
	} else if err != nil {
		return "", err
	}
	return fmt.Sprintf("%s answers at %s with vectors of %d dimensions", m.Model, Place(m.Base), len(vectors[0])), nil
}

// ask waits for the first chunk of an answer. Its content doesn't matter.
func ask(ctx context.Context, with llm.Model, uses Uses) error {
	message := llm.Message{Role: llm.RoleUser, Text: "Say OK."}
	if uses.Images != "" {
		message.Images = []llm.File{{Name: "white.png", Type: "image/png", Data: white()}}
	}
	hello := llm.Request{Messages: []llm.Message{message}, MaxTokens: checkTokens}
	if uses.Tools != "" {
		hello.Tools = []llm.Tool{{Name: "NOTHING", Description: "Does nothing. Don't call it.", Parameters: []byte(`{"type":"object","properties":{}}`)}}
	}
	for _, err := range with.Generate(ctx, hello) {
		return err
	}
	return ErrCut
}

// white returns an image of 64 by 64 pixels: some models take no smaller ones.
func white() []byte {
	picture := image.NewGray(image.Rect(0, 0, 64, 64))
	draw.Draw(picture, picture.Bounds(), image.White, image.Point{}, draw.Src)
	var b bytes.Buffer
	_ = png.Encode(&b, picture) // a buffer takes everything
	return b.Bytes()
}

// nextStep returns advice for the owner about a failure of the model of that name.
func (m *Endpoint) nextStep(ctx context.Context, f *llm.Failure, name string, uses Uses) string {
	switch {
	case f.Kind == llm.NoTools && uses.Tools != "":
		return fmt.Sprintf("the model %q takes no tools: %s", name, uses.Tools)
	case f.Kind == llm.NoVision && uses.Images != "":
		return fmt.Sprintf("the model %q takes no images: %s", name, uses.Images)
	}
	return m.remedy(ctx, f)
}

// remedy is nextStep for failures that do not depend on the use of the model.
func (m *Endpoint) remedy(ctx context.Context, f *llm.Failure) string {
	at := Place(m.Base)
	told, _ := errors.AsType[*report](f.Err)
	if told != nil && told.set {
		return "the configuration is not complete"
	}
	if m.Advice != nil {
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
		if m.APIKey == "" {
			return at + " requires a key: set " + m.Settings.Key
		}
		return at + " rejected the key: correct " + m.Settings.Key
	case llm.NoModel:
		return m.missing(ctx)
	case llm.WrongAddress:
		return "what answers at " + at + " is not a model server: correct " + m.Settings.URL
	case llm.WrongCertificate:
		return "the certificate of " + at + " is not valid: renew it, or correct " + m.Settings.URL
	case llm.GenerationTimeout:
		return at + " is too slow: check again, or choose a smaller model"
	case llm.ConversationTooLong, llm.NoTools, llm.NoVision:
		return at + " refused the request"
	default:
		if told != nil && told.status >= 400 && told.status < 500 {
			return at + " refused the request: correct the parameter that it names, or remove it with null in extra_body"
		}
		return at + " is unavailable: check that it is up and that " + m.Settings.URL + " is right"
	}
}

// missing is remedy for a model or a path that does not exist. It asks the server which models there are.
func (m *Endpoint) missing(ctx context.Context) string {
	names, err := m.Models(ctx)
	if err != nil || len(names) == 0 {
		return "nothing found at " + Place(m.Base) + ": correct " + m.Settings.URL + ", which usually ends with /v1, or " + m.Settings.Model
	}
	return fmt.Sprintf("the model %q does not exist at %s: set %s to %s", m.Model, Place(m.Base), m.Settings.Model, nearestNames(m.Model, names))
}
