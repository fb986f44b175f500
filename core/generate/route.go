package generate

import (
	"errors"
	"slices"
	"sync"
	"time"

	"parley/core/llm"
)

const (
	patience  = 3                // failures in a row until a model is skipped
	restBegin = 15 * time.Second // for this long; then twice as long after each further failure
	restMost  = 5 * time.Minute
)

// ModelTable holds the models and their health. It is safe for concurrent use.
type ModelTable struct {
	models []llm.Named

	mu     sync.Mutex
	health map[string]health
}

// health is the recent record of a model.
type health struct {
	failures int // in a row
	until    time.Time
}

// NewModelTable returns a table of at least one model, with distinct names. The first answers in rooms without a chosen
// model. Fallbacks that name no model are ignored.
func NewModelTable(models []llm.Named) *ModelTable {
	return &ModelTable{models: models, health: map[string]health{}}
}

// Models returns the models, in their order.
func (t *ModelTable) Models() []llm.Named { return t.models }

// find returns the model of that name.
func (t *ModelTable) find(name string) (llm.Named, bool) {
	for _, m := range t.models {
		if m.Name == name {
			return m, true
		}
	}
	return llm.Named{}, false
}

// Route returns the models for one answer: the model with this name, or the first one if there is none, then its
// fallbacks. Models that are being skipped come last: they are better than no model.
func (t *ModelTable) Route(name string) *Route {
	first, ok := t.find(name)
	if !ok {
		first = t.models[0]
	}
	var well, unwell []llm.Named
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.reach(nil, first) {
		if time.Now().Before(t.health[m.Name].until) {
			unwell = append(unwell, m)
		} else {
			well = append(well, m)
		}
	}
	return &Route{table: t, models: append(well, unwell...), wanted: first.Name}
}

// reach appends m and its fallbacks to all, each once: first its own ones in their order, then their fallbacks.
func (t *ModelTable) reach(all []llm.Named, m llm.Named) []llm.Named {
	queue := []llm.Named{m}
	for len(queue) > 0 {
		m, queue = queue[0], queue[1:]
		if hasModel(all, m.Name) {
			continue
		}
		all = append(all, m)
		for _, name := range m.Fallback {
			if f, ok := t.find(name); ok {
				queue = append(queue, f)
			}
		}
	}
	return all
}

func hasModel(all []llm.Named, name string) bool {
	for _, m := range all {
		if m.Name == name {
			return true
		}
	}
	return false
}

// Route is the list of models for one answer, in the order of their use. It belongs to one goroutine.
type Route struct {
	table  *ModelTable
	models []llm.Named // the current one first
	wanted string
}

// Current returns the model to ask.
func (r *Route) Current() llm.Named { return r.models[0] }

// Replaced reports whether the current model is another than the usual one.
func (r *Route) Replaced() bool { return r.models[0].Name != r.wanted }

// Wanted returns the name of the model that usually answers.
func (r *Route) Wanted() string { return r.wanted }

// Worked records that the current model has answered.
func (r *Route) Worked() {
	r.table.mu.Lock()
	defer r.table.mu.Unlock()
	delete(r.table.health, r.models[0].Name)
}

// Next records that the current model failed, and moves on to the next one. It returns false if there is none, or if
// another model would fail as well: then the current one stays.
func (r *Route) Next(err error) bool {
	if !r.table.failed(r.models[0].Name, err) || len(r.models) == 1 {
		return false
	}
	r.models = r.models[1:]
	return true
}

// failed records a failure of a model, and reports whether another model can do better.
func (t *ModelTable) failed(name string, err error) bool {
	var f *llm.Failure
	switch {
	case errors.Is(err, llm.ErrStalled):
		f = &llm.Failure{Kind: llm.GenerationTimeout}
	case !errors.As(err, &f), f.Kind == llm.PromptTooLong:
		return false
	case f.Kind == llm.ConversationTooLong, f.Kind == llm.NoTools, f.Kind == llm.NoVision:
		return true // another model may have a larger context window or more features; this one is well
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	h := t.health[name]
	h.failures++
	rest := f.After // an overloaded model is not called again before the time that it asked for
	if n := h.failures - patience; n >= 0 {
		rest = max(rest, min(restMost, restBegin<<min(n, 10)))
	}
	if until := time.Now().Add(rest); rest > 0 && until.After(h.until) {
		h.until = until
	}
	t.health[name] = h
	return true
}

// Has reports whether a model that can answer fits.
func (r *Route) Has(fits func(llm.Named) bool) bool { return slices.ContainsFunc(r.models, fits) }

// Keep leaves only the models that fit, if there are any: one of them was chosen for this answer.
func (r *Route) Keep(fits func(llm.Named) bool) bool {
	if !r.Has(fits) {
		return false
	}
	r.models = slices.DeleteFunc(slices.Clone(r.models), func(m llm.Named) bool { return !fits(m) })
	r.wanted = r.models[0].Name
	return true
}

// Names returns the names of the models, the current one first.
func (r *Route) Names() (names []string) {
	for _, m := range r.models {
		names = append(names, m.Name)
	}
	return names
}
