package parley

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"

	"parley/connectors"
	"parley/connectors/web"
)

// logKeyName is where the key of the log is kept. It serves nothing else, so that who reads the log can't recognize anything that
// is stored elsewhere as a hash.
const logKeyName = "log key"

// private returns log without the ids of conversations, which are all that it takes to read them. The hashes in their place
// stay the same for the life of the store.
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
