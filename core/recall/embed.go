package recall

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
)

// The time limits of embeddings. Search by words needs no request, so a slow embedder never delays a turn for long.
const (
	together    = 64   // messages per request
	embedTokens = 2000 // of a message
	// EmbedCharacters is the approximate maximum of embedded characters of a message.
	EmbedCharacters = 4 * embedTokens
	questionTime    = 2500 * time.Millisecond
	questionRest    = 30 * time.Second // after a failure to embed a question
	batchTime       = 2 * time.Minute
	releaseTime     = 3 * time.Second
	firstPause      = time.Second // after a failure to embed messages; it doubles
	longestPause    = 10 * time.Minute
	lookAgain       = 10 * time.Minute // messages that a replica was embedding when it died wait for another
	recent          = 24 * time.Hour   // older messages that were never indexed are earlier ones, which only a backfill embeds
)

// Embed returns a vector for each text, in their order. It fails with the error of e, and for an incomplete response.
func Embed(ctx context.Context, e llm.Embedder, texts []string) ([][]float32, error) {
	vectors, err := e.Embed(ctx, texts)
	if err == nil && len(vectors) != len(texts) {
		err = fmt.Errorf("got %d vectors for %d texts", len(vectors), len(texts))
	}
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	return vectors, nil
}

// embedAll embeds all waiting messages. After a failure it continues with half as many at a time, since a single
// message can make a whole batch fail; successes double the number again. It fails with the error of the embedder or
// the store.
func (w *worker) embedAll(ctx context.Context) error {
	if w.Embedder == nil {
		return nil
	}
	for w.size = max(w.size, 1); ; w.size = min(2*w.size, together) {
		if ours, err := w.claims(ctx); err != nil || !ours { // each time: there can be many messages
			return err
		}
		waiting, err := w.Store.Unembedded(ctx, w.Model, w.size)
		if err != nil || len(waiting) == 0 {
			return err
		}
		if err := w.embedBatch(ctx, waiting); err != nil {
			w.size /= 2
			return errors.Join(err, w.release(waiting))
		}
	}
}

// release returns messages that were not embedded to the queue, also when the program ends. Otherwise they would wait
// until the store's claim on them expires. It fails with the error of the store.
func (w *worker) release(all []chat.Unembedded) error {
	ctx, cancel := context.WithTimeout(context.Background(), releaseTime)
	defer cancel()
	var tickets []chat.Ticket
	for _, u := range all {
		tickets = append(tickets, u.Ticket)
	}
	return w.Store.ReleaseUnembedded(ctx, tickets)
}

// embedBatch embeds messages and stores their vectors. The tickets make the store ignore vectors of messages that were
// edited or deleted meanwhile. It fails with the error of the embedder or the store.
func (w *worker) embedBatch(ctx context.Context, waiting []chat.Unembedded) error {
	limited, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	var texts []string
	for _, u := range waiting {
		texts = append(texts, embedText(u.Memory))
	}
	vectors, err := Embed(limited, w.Embedder, texts)
	if len(waiting) == 1 && Refused(limited, w.Embedder, err) {
		// The provider never accepts this text. An empty vector marks it as done, so that it is not tried again.
		vectors, err = [][]float32{nil}, nil
	}
	if err != nil {
		return err
	}
	if ours, err := w.measured(ctx, vectors); err != nil || !ours {
		return errors.Join(err, w.release(waiting))
	}
	var save []chat.Vector
	for i, u := range waiting {
		save = append(save, chat.Vector{Ticket: u.Ticket, Vector: vectors[i]})
	}
	err = w.Store.SaveVectors(ctx, w.Model, save)
	w.saved = w.saved || err == nil
	return err
}

// measured records the length of vectors, and reports whether this replica can store vectors of that length. It fails
// with the error of the store.
func (w *worker) measured(ctx context.Context, vectors [][]float32) (bool, error) {
	for _, v := range vectors {
		if len(v) > 0 && len(v) != w.claimed {
			w.length.Store(int64(len(v)))
			return w.claims(ctx)
		}
	}
	return true, nil
}

// Refused reports whether err, of a single text, means that the provider never accepts this text: it is too long, or
// the provider accepts another text at this moment. It makes a request for that if the error alone is inconclusive.
func Refused(ctx context.Context, e llm.Embedder, err error) bool {
	var f *llm.Failure
	switch {
	case !errors.As(err, &f):
		return false
	case f.Kind == llm.PromptTooLong || f.Kind == llm.ConversationTooLong:
		return true
	case f.Kind != llm.ProviderIssue || f.Retry:
		return false
	}
	_, err = Embed(ctx, e, []string{"OK"})
	return err == nil
}

// embedText returns the text of a message with its files, cut to the limit of embedders.
func embedText(m chat.Memory) string {
	texts := []string{m.Text}
	for _, f := range m.Files {
		texts = append(texts, f.Name, f.Title, f.Description, f.Text)
	}
	return text.CutTokens(strings.TrimSpace(strings.Join(texts, "\n")), embedTokens)
}
