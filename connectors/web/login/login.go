// Package login lets browsers act as the owner: a code that is shown on the gateway's machine is exchanged, once, for a
// session of 30 days. Only hashes of both are stored, so that every replica honors them, also after a restart, and a copy of
// the store gives no access.
package login

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"parley/core/chat"
)

const (
	// CodeTime is how long a code is valid.
	CodeTime = 5 * time.Minute
	// SessionTime is how long a session lasts.
	SessionTime = 30 * 24 * time.Hour

	codeLength   = 12 // characters with five bits each
	idLength     = 8  // of a session's id, in hexadecimal digits
	mostSessions = 20 // the oldest ones end
	maxDevice    = 60 // characters
	attempts     = 10 // to change what other processes change too
)

// Prefix begins the names of all stored values.
const Prefix = "web/login "

// The names of stored values. They must not change.
const (
	codeName     = Prefix + "code"
	sessionsName = Prefix + "sessions"
)

// Store stores small values, like connectors.SharedState. Its errors are those of the store.
type Store interface {
	Kept(ctx context.Context, name string) (string, error)
	Swap(ctx context.Context, name, old, value string) (bool, error)
}

// Sessions are browsers that are logged in. It is safe for concurrent use, also by several processes with one store.
type Sessions struct {
	Store Store
	// Name is the name of the stored sessions, and Lasts how long one lasts; empty: those of the owner's browsers in the chat.
	Name  string
	Lasts time.Duration
}

// Session is one browser.
type Session struct {
	ID     string // identifies it for revocation; it gives no access
	Device string // the browser's description of itself
	Since  time.Time
	Ends   time.Time
	Hash   string // of its token
	// Who logged in, and Role, are those of [Sessions.Begin]. They are empty for the owner's browsers in the chat.
	Who  string `json:",omitempty"`
	Role string `json:",omitempty"`
}

// code is a stored code.
type code struct {
	Hash string
	Ends time.Time
}

// NewCode returns a code for one login. Earlier codes are not valid any more. It fails if the code can't be stored.
func (s Sessions) NewCode(ctx context.Context) (string, error) {
	made := rand.Text()[:codeLength]
	err := Change(ctx, s.Store, codeName, func(c *code) error {
		*c = code{Hash(made), time.Now().Add(CodeTime)}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("store a code for a login: %w", err)
	}
	return made[:4] + "-" + made[4:8] + "-" + made[8:], nil
}

// Redeem exchanges a code for the token of a new session. [chat.ErrNotFound] if the code is wrong, was used, or has expired.
func (s Sessions) Redeem(ctx context.Context, written, device string) (token string, err error) {
	if err := s.Spend(ctx, written); err != nil {
		return "", err
	}
	return s.Begin(ctx, Session{Device: device})
}

// Spend uses up a code of [Sessions.NewCode]. It fails like Redeem.
func (s Sessions) Spend(ctx context.Context, written string) error {
	err := Change(ctx, s.Store, codeName, func(c *code) error {
		if !Same(c.Hash, Hash(Plain(written))) || !time.Now().Before(c.Ends) {
			return chat.ErrNotFound
		}
		*c = code{} // it is used up before there is a session
		return nil
	})
	if err != nil {
		return fmt.Errorf("redeem a code: %w", err)
	}
	return nil
}

// Begin stores a session with a device, and a user and a role if it has them, and returns its token. It fails if the session can't be
// stored.
func (s Sessions) Begin(ctx context.Context, made Session) (token string, err error) {
	token, now := rand.Text(), time.Now()
	made.ID, made.Hash, made.Device = Hash(token)[:idLength], Hash(token), made.Device[:min(len(made.Device), maxDevice)]
	made.Since, made.Ends = now, now.Add(cmp.Or(s.Lasts, SessionTime))
	err = Change(ctx, s.Store, s.name(), func(all *[]Session) error {
		*all = append(current(*all), made)
		*all = (*all)[max(0, len(*all)-mostSessions):]
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("store a session: %w", err)
	}
	return token, nil
}

func (s Sessions) name() string { return cmp.Or(s.Name, sessionsName) }

// Find returns the session with a token, or [chat.ErrNotFound]. It reads the store each time: a revoked session ends at once.
func (s Sessions) Find(ctx context.Context, token string) (found Session, err error) {
	all, err := s.List(ctx)
	if err != nil {
		return found, err
	}
	wanted := Hash(token)
	for _, one := range all { // all of them: how long it takes says nothing
		if Same(one.Hash, wanted) {
			found = one
		}
	}
	if found.ID == "" {
		return found, chat.ErrNotFound
	}
	return found, nil
}

// List returns the sessions, oldest first. It fails if they can't be read from the store.
func (s Sessions) List(ctx context.Context) ([]Session, error) {
	all, err := Read[[]Session](ctx, s.Store, s.name())
	if err != nil {
		return nil, fmt.Errorf("read the sessions: %w", err)
	}
	return current(all), nil
}

// Read returns a stored value, zero if there is none. It fails with the error of the store.
func Read[T any](ctx context.Context, store Store, name string) (value T, err error) {
	kept, err := store.Kept(ctx, name)
	if err != nil {
		return value, err
	}
	return decode[T](kept)
}

// End ends a session. [chat.ErrNotFound] if there is none with this id.
func (s Sessions) End(ctx context.Context, id string) error {
	if err := Remove(ctx, s.Store, s.name(), func(one Session) bool { return one.ID == id }); err != nil {
		return fmt.Errorf("end a session: %w", err)
	}
	return nil
}

// Remove deletes the elements of a stored list that match. It fails with [chat.ErrNotFound] if there are none, and like
// [Change].
func Remove[T any](ctx context.Context, store Store, name string, match func(T) bool) error {
	return Change(ctx, store, name, func(all *[]T) error {
		left := slices.DeleteFunc(slices.Clone(*all), match)
		if len(left) == len(*all) {
			return chat.ErrNotFound
		}
		*all = left
		return nil
	})
}

// Once returns a stored value, which is made if there is none. Processes that make it at the same moment agree on the first. It
// fails with the error of the store.
func Once(ctx context.Context, store Store, name, made string) (string, error) {
	kept, err := store.Kept(ctx, name)
	if kept != "" || err != nil {
		return kept, err
	}
	if _, err := store.Swap(ctx, name, "", made); err != nil {
		return "", err
	}
	if kept, err = store.Kept(ctx, name); err == nil && kept == "" {
		err = errContended
	}
	return kept, err
}

// Change replaces a stored value by the result of edit, unless edit fails. It fails with the error of edit, or of the store.
func Change[T any](ctx context.Context, store Store, name string, edit func(*T) error) error {
	for range attempts {
		kept, err := store.Kept(ctx, name)
		if err != nil {
			return err
		}
		value, err := decode[T](kept)
		if err != nil {
			return err
		}
		if err := edit(&value); err != nil {
			return err
		}
		next, err := json.Marshal(value)
		if err != nil {
			return err
		}
		if done, err := store.Swap(ctx, name, kept, string(next)); done || err != nil {
			return err
		}
	}
	return errContended
}

// errContended means that other processes change a value each time before this one can.
var errContended = errors.New("other processes change it all the time")

func decode[T any](kept string) (value T, err error) {
	if kept == "" {
		return value, nil
	}
	err = json.Unmarshal([]byte(kept), &value)
	return value, err
}

// current returns the sessions that have not ended.
func current(all []Session) []Session {
	now := time.Now()
	return slices.DeleteFunc(slices.Clone(all), func(one Session) bool { return !now.Before(one.Ends) })
}

// Plain returns a code in the form that is hashed, in whatever form it was typed. Digits that a code never has stand
// for the letters that they look like.
func Plain(written string) string {
	return strings.NewReplacer("-", "", " ", "", "0", "O", "1", "I", "8", "B").Replace(strings.ToUpper(strings.TrimSpace(written)))
}

// Hash returns the stored form of a secret.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Same compares hashes, an empty one with none.
func Same(kept, given string) bool {
	return kept != "" && subtle.ConstantTimeCompare([]byte(kept), []byte(given)) == 1
}
