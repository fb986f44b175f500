package web

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
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
	memo connectors.SharedState
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

// keyAttempts bounds how often today's key is looked for. The second finds what another replica has made meanwhile.
const keyAttempts = 3

// today returns the day's key, creating it if needed. Replicas that create one at the same moment agree on the one that
// is stored first. The lock is held during the store's requests, so one process creates at most one key at a time.
func (k *addressKey) today(ctx context.Context) (string, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for range keyAttempts {
		if err := k.read(ctx); err != nil {
			return "", err
		}
		now := time.Now().In(k.zone)
		if key, ok := keyOf(k.kept, now); ok {
			return key, nil
		}
		made := now.Format(time.DateOnly) + " " + rand.Text()
		done, err := k.memo.Swap(ctx, addressKeyName, k.kept, made)
		if err != nil {
			return "", fmt.Errorf("store the key of visitors' addresses: %w", err)
		}
		k.kept = ""
		if done {
			k.kept = made
		}
	}
	return "", errors.New("make a key for visitors' addresses: other gateways replace it all the time; compare the clocks of their machines")
}

// read reads the stored key if this process has none.
func (k *addressKey) read(ctx context.Context) (err error) {
	if k.kept == "" {
		if k.kept, err = k.memo.Kept(ctx, addressKeyName); err != nil {
			return fmt.Errorf("read the key of visitors' addresses: %w", err)
		}
	}
	return nil
}

// keyOf returns the key of a stored "day key" if it is used at now. That of the next day is used too: another replica,
// whose clock is ahead, has made it, and one that goes back to the day before would replace it.
func keyOf(kept string, now time.Time) (key string, ok bool) {
	day, key, _ := strings.Cut(kept, " ")
	return key, key != "" && (day == now.Format(time.DateOnly) || day == now.AddDate(0, 0, 1).Format(time.DateOnly))
}
