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

// addressKeyName is where the key of the day is kept. Its form is stored, hence stays.
const addressKeyName = Name + "/address key"

// addressKey turns addresses of visitors into names for their spending limits. The key is replaced with the day that the limits
// count by, and the old one is deleted: from then on no stored name leads back to an address. Safe for concurrent use.
type addressKey struct {
	memo connectors.StateStore // nil: the key lasts as long as the process
	zone *time.Location

	mu   sync.Mutex
	kept string // "day key"
}

// name returns what stands for the visitor's address today (SE-10).
func (k *addressKey) name(ctx context.Context, address string) (chat.EntityID, error) {
	key, err := k.today(ctx)
	if err != nil {
		return "", err
	}
	h := hmac.New(sha256.New, []byte(key))
	h.Write([]byte(address)) // never fails
	return chat.EntityID(Name + "/address/" + hex.EncodeToString(h.Sum(nil)[:8])), nil
}

// today returns the key of the day, and makes it if there is none.
func (k *addressKey) today(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	day := time.Now().In(k.zone).Format(time.DateOnly) + " "
	if k.kept == "" && k.memo != nil {
		kept, err := k.memo.Kept(ctx, addressKeyName)
		if err != nil {
			return "", fmt.Errorf("read the key of visitors' addresses: %w", err)
		}
		k.kept = kept
	}
	if !strings.HasPrefix(k.kept, day) {
		kept := day + rand.Text()
		if k.memo != nil {
			if err := k.memo.Keep(ctx, addressKeyName, kept); err != nil {
				return "", fmt.Errorf("store the key of visitors' addresses: %w", err)
			}
		}
		k.kept = kept
	}
	return strings.TrimPrefix(k.kept, day), nil
}

// payer returns who pays for what r asks for: an address, with all its conversations (SE-10). It answers the request itself if
// that can't be found out.
func (w *Web) payer(rw http.ResponseWriter, r *http.Request) (chat.EntityID, bool) {
	id, err := w.addresses.name(r.Context(), w.guard.client(r).String())
	if err != nil {
		w.broken(rw, "hash a visitor's address", err)
	}
	return id, err == nil
}
