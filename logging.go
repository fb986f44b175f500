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

// private returns log with bounds, and with conversation ids replaced by hashes, because the ids give access to the
// conversations. The hashes stay the same for the life of the store, and are the same in all gateways that share it.
func private(ctx context.Context, memo connectors.SharedState, log *slog.Logger) (*slog.Logger, error) {
	key, err := logKey(ctx, memo)
	if err != nil {
		return nil, err
	}
	return slog.New(limitLog(web.HideConversations(log.Handler(), key))), nil
}

// logKey returns the stored key, and makes one for a new store. If another gateway does the same at the same time, the
// key that is stored first counts.
func logKey(ctx context.Context, memo connectors.SharedState) (string, error) {
	key, err := memo.Kept(ctx, logKeyName)
	if err != nil {
		return "", fmt.Errorf("read the key of the log: %w", err)
	}
	if key != "" {
		return key, nil
	}
	made := rand.Text()
	done, err := memo.Swap(ctx, logKeyName, "", made)
	if err != nil {
		return "", fmt.Errorf("store the key of the log: %w", err)
	}
	if done {
		return made, nil
	}
	if key, err = memo.Kept(ctx, logKeyName); err != nil {
		return "", fmt.Errorf("read the key of the log: %w", err)
	}
	return key, nil
}
