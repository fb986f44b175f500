package essentials

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

const (
	passage     = 900 // maximum length of a passage, in characters
	told        = 4   // passages in a prompt
	near        = 0.3 // minimum cosine similarity
	together    = 64  // passages per embedding request
	allKnown    = 2   // so few passages are all in the prompt, without a search
	questionMax = 2000
)

// The time limits of semantic search. Keyword search needs no request, so a slow embedder never delays a turn for long.
const (
	questionTime = 2500 * time.Millisecond // to embed a question
	questionRest = 30 * time.Second        // pause after a failure to embed a question
	knowledgeFor = 5 * time.Second         // of the provider
	batchTime    = 2 * time.Minute         // to embed passages
	firstPause   = time.Second             // after a failure; it doubles
	longestPause = time.Minute
)

// knowledge finds the passages of the character's knowledge that match a message: by keywords, or by embeddings once all
// passages have one.
type knowledge struct {
	embedder llm.Embedder // nil: keywords only
	log      *slog.Logger

	once    sync.Once
	indexed chan struct{} // closed when the fields below are set
	texts   []string
	names   []string
	byWord  index

	mu      sync.Mutex
	vectors [][]float32 // of all passages; nil until they are complete
	rests   time.Time   // until then no question is embedded
}

func newKnowledge(d Deps) *knowledge {
	return &knowledge{embedder: d.Embedder, log: d.Log, indexed: make(chan struct{})}
}

// Spec implements [action.Provider].
func (k *knowledge) Spec() action.ProviderSpec {
	return action.ProviderSpec{Name: "KNOWLEDGE", Position: 50, Values: []string{"relevantKnowledge"}, Limit: knowledgeFor}
}

// Provide implements [action.Provider].
func (k *knowledge) Provide(ctx context.Context, s action.TurnContext) (action.ProviderResult, error) {
	k.once.Do(func() {
		k.read(s.Agent.Character.Knowledge)
		close(k.indexed)
	})
	var lines []string
	for _, i := range k.find(ctx, text.Excerpt(s.Message.Text, questionMax)) {
		text := k.texts[i]
		if k.names[i] != "" {
			text = "From " + k.names[i] + ":\n" + text
		}
		lines = append(lines, text)
	}
	if len(lines) == 0 {
		return action.ProviderResult{}, nil
	}
	text := dashes(lines)
	return action.ProviderResult{Text: "# Knowledge about this topic\n" + text, Values: map[string]string{"relevantKnowledge": text}}, nil
}

func (k *knowledge) read(documents []chat.Document) {
	for _, d := range documents {
		for _, p := range passages(d.Text, passage) {
			k.texts, k.names = append(k.texts, p), append(k.names, d.Name)
		}
	}
	k.byWord = newIndex(k.texts)
}

// find returns the passages that match a question, the best first.
func (k *knowledge) find(ctx context.Context, question string) []int {
	if len(k.texts) <= allKnown {
		return rank(len(k.texts), allKnown, func(int) float64 { return 1 })
	}
	if best, ok := k.byMeaning(ctx, question); ok {
		return best
	}
	asked := words(question)
	return rank(len(k.texts), told, func(i int) float64 { return k.byWord.score(asked, i) })
}

// byMeaning is find by embeddings. ok is false if they are not available.
func (k *knowledge) byMeaning(ctx context.Context, question string) (best []int, ok bool) {
	k.mu.Lock()
	vectors, rests := k.vectors, time.Now().Before(k.rests)
	k.mu.Unlock()
	if vectors == nil || rests || strings.TrimSpace(question) == "" {
		return nil, false
	}
	limited, cancel := context.WithTimeout(ctx, questionTime)
	defer cancel()
	asked, err := k.embed(limited, []string{question})
	if err != nil {
		if ctx.Err() == nil {
			k.mu.Lock()
			k.rests = time.Now().Add(questionRest)
			k.mu.Unlock()
			k.log.Warn("knowledge search falls back to keywords: the question's embedding failed", "err", err)
		}
		return nil, false
	}
	return rank(len(vectors), told, func(i int) float64 { return cosine(vectors[i], asked[0]) - near }), true
}

// embed returns the embeddings of texts. An incomplete response is an error.
func (k *knowledge) embed(ctx context.Context, texts []string) ([][]float32, error) {
	vectors, err := k.embedder.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("got %d vectors for %d texts", len(vectors), len(texts))
	}
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return vectors, nil
}

// work embeds all passages in the background, beginning with the first question. After a failure it retries with a smaller
// batch after a pause, and keeps what is complete.
func (k *knowledge) work(ctx context.Context) {
	select {
	case <-k.indexed:
	case <-ctx.Done():
		return
	}
	if k.embedder == nil || len(k.texts) <= allKnown {
		return
	}
	var known [][]float32
	size, pause := together, time.Duration(0)
	for len(known) < len(k.texts) {
		limited, cancel := context.WithTimeout(ctx, batchTime)
		more, err := k.embed(limited, k.texts[len(known):min(len(known)+size, len(k.texts))])
		cancel()
		if err == nil {
			known, size, pause = append(known, more...), min(2*size, together), 0
			continue
		}
		if pause == 0 && ctx.Err() == nil {
			k.log.Warn("knowledge search uses keywords until all embeddings are ready", "known", len(known), "of", len(k.texts), "err", err)
		}
		size, pause = max(1, size/2), min(max(firstPause, 2*pause), longestPause)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.vectors = known
}
