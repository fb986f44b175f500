package parley

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	stores "parley/backends"
	"parley/config"
	"parley/core/llm"
	"parley/core/recall"
)

const allByMeaning = "all messages are searched by meaning"

// charactersPerToken is the usual estimate for English text.
const charactersPerToken = 4

// checkRecall returns the number of messages that the next start embeds because the model was changed, and of earlier
// ones that agent.recall: meaning_all embeds then, or would embed: the owner should know the cost before it arises. It
// fails if the messages can't be counted.
func checkRecall(ctx context.Context, cfg config.Config, embedder llm.Embedder) (string, error) {
	if embedder == nil {
		return "", warning("meaning needs an embedding model; set models.embedding.model, or recall searches by words")
	}
	store, err := stores.Open(ctx, cfg.Store.Reveal(), stores.Options{Guest: true})
	if stores.Missing(err) {
		return allByMeaning, nil
	} else if _, used := stores.InUse(err); used {
		return "earlier messages can't be counted while the gateway is running", nil
	} else if err != nil {
		return "", fmt.Errorf("open the store: %w", err)
	}
	defer store.Close() //nolint:errcheck // nothing was written
	value, err := store.Kept(ctx, pluginKey("recall", recall.ClaimKey))
	if err != nil {
		return "", err
	}
	if other := recall.Claimant(value, time.Now()); several(cfg) && other != "" && other != embedding(cfg) {
		return "", warning(fmt.Sprintf("messages are embedded with %q by a running gateway, not with %q; set the same models.embedding for all gateways", other, embedding(cfg)))
	}
	messages, characters, err := store.BackfillSize(ctx, recall.EmbedCharacters)
	if err != nil {
		return "", err
	}
	waiting, more, err := store.WaitingSize(ctx, embedding(cfg), recall.EmbedCharacters)
	if err != nil {
		return "", err
	}
	if cfg.Agent.Recall == config.RecallAll {
		waiting, more, messages = waiting+messages, more+characters, 0
	}
	var all []string
	if waiting > 0 {
		all = append(all, "the next start embeds "+sizeOf(waiting, more))
	}
	if messages > 0 {
		all = append(all, sizeOf(messages, characters)+", are searched by words only; agent.recall: meaning_all embeds them")
	}
	return cmp.Or(strings.Join(all, "; "), allByMeaning), nil
}

func sizeOf(messages, characters int) string {
	return fmt.Sprintf("%d earlier messages, about %d tokens", messages, characters/charactersPerToken)
}
