package identity

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"sync"
	"time"

	"parley/connectors/web/login"
	"parley/core/chat"
)

const (
	// KeyPrefix begins API keys.
	KeyPrefix = "parley_"
	// KeyFresh is how old a process's list of keys can be: a revoked key is refused everywhere after that.
	KeyFresh = 3 * time.Second
	// keyPause is how old the list is before it is read again for an unknown key, which may be new.
	keyPause = 100 * time.Millisecond
	// MaxKeys is the maximum number of keys.
	MaxKeys = 1000

	// KeysName is the name of the stored list. It must not change.
	KeysName = "web/identity keys"
)

// The scopes of keys.
const (
	Read  = "read"  // GET requests
	Write = "write" // all others
)

// Key is an API key of a program. It is never the owner's. The key itself is not stored.
type Key struct {
	ID        string // identifies it in lists; it gives no access
	Name      string
	Scopes    []string
	PerMinute int `json:",omitempty"` // messages; 0: as of a visitor
	Since     time.Time
	Ends      time.Time
	Hash      string
}

// Allows reports whether the key has a scope.
func (k Key) Allows(scope string) bool { return slices.Contains(k.Scopes, scope) }

// Keys are the API keys in a store. It is safe for concurrent use, also by several processes.
type Keys struct{ Store login.Store }

// Create stores a key and returns its text, which can't be read again. Name, Scopes, PerMinute and Ends come from k. It fails
// with [chat.ErrTooMany] if there are [MaxKeys], and if the store does.
func (s Keys) Create(ctx context.Context, k Key) (text string, made Key, err error) {
	text = KeyPrefix + rand.Text()
	k.Hash, k.Since = login.Hash(text), time.Now()
	k.ID = k.Hash[:8]
	err = login.Change(ctx, s.Store, KeysName, func(all *[]Key) error {
		left := current(*all)
		if len(left) >= MaxKeys {
			return chat.ErrTooMany
		}
		*all = append(left, k)
		return nil
	})
	if err != nil {
		return "", k, fmt.Errorf("store an API key: %w", err)
	}
	return text, k, nil
}

// List returns the keys that have not ended, oldest first. It fails if they can't be read from the store.
func (s Keys) List(ctx context.Context) ([]Key, error) {
	all, err := login.Read[[]Key](ctx, s.Store, KeysName)
	if err != nil {
		return nil, fmt.Errorf("read the API keys: %w", err)
	}
	return current(all), nil
}

// Revoke deletes the key with an id. It fails with [chat.ErrNotFound] if there is none, and if the store does.
func (s Keys) Revoke(ctx context.Context, id string) error {
	if err := login.Remove(ctx, s.Store, KeysName, func(k Key) bool { return k.ID == id }); err != nil {
		return fmt.Errorf("revoke an API key: %w", err)
	}
	return nil
}

func current(all []Key) []Key {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(all), func(k Key) bool { return !now.Before(k.Ends) })
}

// Ring finds the key of a request. It reads the list at most every [KeyFresh], or sooner for an unknown key. It is safe for concurrent use.
type Ring struct {
	Keys Keys

	mu   sync.Mutex
	read time.Time
	held map[string]Key // by their hashes
}

// Find returns the key with a text. It fails with [ErrUnknown], with [ErrExpired], or if the list can't be read.
func (r *Ring) Find(ctx context.Context, text string) (Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	hash := login.Hash(text)
	if _, known := r.held[hash]; time.Since(r.read) >= KeyFresh || !known && time.Since(r.read) >= keyPause {
		all, err := r.Keys.List(ctx)
		if err != nil {
			return Key{}, err
		}
		r.held, r.read = make(map[string]Key, len(all)), time.Now()
		for _, k := range all {
			r.held[k.Hash] = k
		}
	}
	// The hash of a random key is no secret that the time of a look-up could reveal.
	k, ok := r.held[hash]
	switch {
	case !ok:
		return k, ErrUnknown
	case !time.Now().Before(k.Ends):
		return k, ErrExpired
	}
	return k, nil
}
