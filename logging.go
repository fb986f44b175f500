package parley

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"parley/connectors"
	"parley/connectors/web"
)

// logKeyName is the storage key of the log's hash key. The key has no other use, so that hashes in the log can't be
// matched with stored hashes.
const logKeyName = "log key"

// private returns log with conversation ids replaced by hashes, because the ids give access to the conversations. The
// hashes stay the same for the life of the store.
func private(ctx context.Context, memo connectors.StateStore, log *slog.Logger) (*slog.Logger, error) {
	key, err := memo.Kept(ctx, logKeyName)
	if err != nil {
		return nil, fmt.Errorf("read the key of the log: %w", err)
	}
	if key == "" {
		key = rand.Text()
		if err := memo.Keep(ctx, logKeyName, key); err != nil {
			return nil, fmt.Errorf("store the key of the log: %w", err)
		}
	}
	return slog.New(web.HideConversations(log.Handler(), key)), nil
}
