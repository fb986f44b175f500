package knowledge

import (
	"bytes"
	"context"
	"math/rand/v2"
	"time"

	"parley/core/chat"
	"parley/core/recall"
	"parley/internal/search"
)

const (
	watchEvery   = 15 * time.Second // look for changed files
	useEvery     = 24 * time.Hour   // note that vectors are in use
	together     = 64               // texts per request
	lookup       = 500              // vectors read from the store at a time
	batchTime    = 2 * time.Minute
	firstPause   = time.Second // after a failure to embed; it doubles
	longestPause = 5 * time.Minute
)

// batches is the state of embedding. Only the plugin's work uses it.
type batches struct {
	size   int // of the next request
	pause  time.Duration
	until  time.Time // the end of the pause
	failed bool      // this was logged
	used   time.Time // when use was last noted
	wrong  map[chat.PieceKey][]byte
}

// work reads documents when they change, and embeds new pieces, until ctx is done. It retries failures after a
// pause. Answers don't depend on it.
func (k *knowledge) work(ctx context.Context) {
	for ctx.Err() == nil {
		k.refresh(ctx)
		k.embed(ctx)
		if k.visit(ctx) {
			continue
		}
		select {
		case <-time.After(k.rest()):
		case pieces := <-k.damaged:
			k.drop(pieces)
		case <-ctx.Done():
		}
	}
}

// rest returns the time until the next task, unless a vector turns out to be damaged.
func (k *knowledge) rest() time.Duration {
	rest := useEvery
	if k.Stamp != nil && k.reader.stamp != "" {
		rest = watchEvery
	}
	if len(k.Sitemaps) > 0 {
		rest = min(rest, time.Until(k.sites.next))
	}
	if k.batches.pause > 0 {
		rest = min(rest, time.Until(k.batches.until))
	}
	return rest
}

// drop removes vectors that can't be compared, so that the texts are embedded again. It remembers them, because the
// store still has them, and lookUp would bring them back.
func (k *knowledge) drop(pieces []int) {
	l := k.library()
	if k.batches.wrong == nil {
		k.batches.wrong = map[chat.PieceKey][]byte{}
	}
	for _, i := range pieces {
		if i >= len(l.pieces) {
			return // of another library
		}
		k.batches.wrong[l.pieces[i].key] = l.vectors[i]
	}
	k.now.Store(l.without(pieces))
}

// embed gives all pieces a vector: one of the store, which any replica can have saved, or a new one. A failure halves
// the next request, as a single text can make all of it fail, and is logged once.
func (k *knowledge) embed(ctx context.Context) {
	if k.Embedder == nil || len(k.library().pieces) <= allKnown || time.Now().Before(k.batches.until) {
		return
	}
	err := k.embedMissing(ctx)
	b := &k.batches
	switch {
	case ctx.Err() != nil:
	case err == nil:
		b.pause, b.failed, b.until = 0, false, time.Time{}
	default:
		if !b.failed {
			k.Log.Warn("some knowledge is found by words only until its embedding succeeds", "err", err)
		}
		b.failed, b.size = true, max(1, b.size/2)
		b.pause = min(max(firstPause, 2*b.pause), longestPause)
		b.until = time.Now().Add(b.pause)
	}
}

// embedMissing embeds pieces without a vector, in batches, and stops at the first failure.
func (k *knowledge) embedMissing(ctx context.Context) error {
	if err := k.lookUp(ctx, k.library().missing()); err != nil {
		return err
	}
	missing := k.library().missing()
	// Replicas that begin at the same time embed different pieces first, and then find those of the others.
	rand.Shuffle(len(missing), func(i, j int) { missing[i], missing[j] = missing[j], missing[i] })
	for len(missing) > 0 && ctx.Err() == nil {
		n := min(k.batches.size, len(missing))
		if err := k.embedBatch(ctx, missing[:n]); err != nil {
			return err
		}
		missing, k.batches.size, k.batches.pause = missing[n:], min(2*k.batches.size, together), 0
	}
	return k.use(ctx)
}

// lookUp adds the vectors of pieces that are stored.
func (k *knowledge) lookUp(ctx context.Context, pieces []int) error {
	keys := k.library().keysOf(pieces)
	for len(keys) > 0 {
		n := min(lookup, len(keys))
		stored, err := k.Store.PieceVectors(ctx, k.Model, keys[:n])
		if err != nil {
			return err
		}
		for key, v := range stored {
			if wrong, is := k.batches.wrong[key]; is && bytes.Equal(v, wrong) {
				delete(stored, key)
			}
		}
		k.now.Store(k.library().with(stored))
		keys = keys[n:]
	}
	return nil
}

// embedBatch embeds pieces that no other replica has embedded meanwhile.
func (k *knowledge) embedBatch(ctx context.Context, batch []int) error {
	ctx, cancel := context.WithTimeout(ctx, batchTime)
	defer cancel()
	if err := k.lookUp(ctx, batch); err != nil {
		return err
	}
	l := k.library()
	var texts []string
	var keys []chat.PieceKey
	for _, i := range batch {
		if l.vectors[i] == nil {
			texts, keys = append(texts, l.pieces[i].meaning()), append(keys, l.pieces[i].key)
		}
	}
	if len(texts) == 0 {
		return nil
	}
	vectors, err := recall.Embed(ctx, k.Embedder, texts)
	if len(texts) == 1 && recall.Refused(ctx, k.Embedder, err) {
		// The provider never accepts this text. An empty vector keeps it from being tried again.
		vectors, err = [][]float32{nil}, nil
	}
	if err != nil {
		return err
	}
	packed := make(map[chat.PieceKey][]byte, len(keys))
	for i, key := range keys {
		packed[key] = search.Pack(vectors[i])
		delete(k.batches.wrong, key)
	}
	if err := k.Store.SavePieceVectors(ctx, k.Model, packed); err != nil {
		return err
	}
	k.now.Store(l.with(packed))
	return nil
}

// use records once a day which vectors are in use, so that the store can remove the others.
func (k *knowledge) use(ctx context.Context) error {
	if time.Since(k.batches.used) < useEvery {
		return nil
	}
	var keys []chat.PieceKey
	for _, p := range k.library().pieces {
		keys = append(keys, p.key)
	}
	if err := k.Store.UsePieceVectors(ctx, k.Model, keys); err != nil {
		return err
	}
	k.batches.used = time.Now()
	return nil
}
