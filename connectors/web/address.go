package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"parley/connectors"
	"parley/core/chat"
)

// addressKeyName is the key of the stored daily hash key. Its form is stored, so it must not change.
const addressKeyName = Name + "/address key"

// addressKey hashes visitors' addresses for their spending limits. The hash key is replaced at the start of each day of
// the limits, and the old one is deleted: from then on stored hashes can't be traced to an address, not even by trying
// all addresses. It is stored because a restart must not reset the limits. Safe for concurrent use.
type addressKey struct {
	memo connectors.StateStore
	zone *time.Location

	mu   sync.Mutex
	kept string // "day key"
}

// name returns today's hash of the visitor's address, so that stored limits hold no personal data. Eight bytes suffice
// to tell a day's visitors apart.
func (k *addressKey) name(ctx context.Context, address string) (chat.EntityID, error) {
	key, err := k.today(ctx)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(address)) // never fails
	return chat.EntityID(Name + "/address/" + hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// today returns the day's key, creating it if needed. The lock is held during the store's requests, so that one process
// creates one key. Two replicas that create one at the same moment count a visitor apart for that day.
func (k *addressKey) today(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	day := time.Now().In(k.zone).Format(time.DateOnly) + " "
	if k.kept == "" {
		kept, err := k.memo.Kept(ctx, addressKeyName)
		if err != nil {
			return "", fmt.Errorf("read the key of visitors' addresses: %w", err)
		}
		k.kept = kept
	}
	if !strings.HasPrefix(k.kept, day) {
		kept := day + rand.Text()
		if err := k.memo.Keep(ctx, addressKeyName, kept); err != nil {
			return "", fmt.Errorf("store the key of visitors' addresses: %w", err)
		}
		k.kept = kept
	}
	return strings.TrimPrefix(k.kept, day), nil
}

// payer returns the entity that pays for r: an address with all its conversations, because a new conversation costs
// nothing. It answers the request itself on failure, because a message without a payer would be unlimited.
func (w *Web) payer(rw http.ResponseWriter, r *http.Request) (chat.EntityID, bool) {
	id, err := w.addresses.name(r.Context(), w.guard.client(r).String())
	if err != nil {
		w.broken(rw, "hash a visitor's address", err)
	}
	return id, err == nil
}
