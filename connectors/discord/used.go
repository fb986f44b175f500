package discord

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	usedFor  = 7 * 24 * time.Hour // a channel counts as used for this long after its last message
	usedStep = time.Hour          // resolution of the stored times, because each change is a write
	mostUsed = 2000
)

// used records the channels in use, which a search looks into after a lost session: Discord offers no way to ask in
// which direct messages something is new. It is stored, so its JSON is a format. It is safe for concurrent use.
type used struct {
	mu  sync.Mutex
	all map[string]use
	// dirty is set if all differs from the stored value.
	dirty bool
}

// use is when a channel was used last.
type use struct {
	Guild string `json:"g,omitempty"` // empty in direct messages
	At    int64  `json:"t"`           // Unix seconds
}

func newUsed() *used { return &used{all: map[string]use{}} }

// note records a message in a channel. Within usedStep of the last one it changes nothing, so that a busy channel
// causes one write an hour.
func (u *used) note(channel, guild string, now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if old, ok := u.all[channel]; ok && now.Unix()-old.At < int64(usedStep/time.Second) {
		return
	}
	u.all[channel] = use{guild, now.Unix()}
	u.dirty = true
	if len(u.all) >= 2*mostUsed {
		u.trim(now)
	}
}

// add adds the channels of another shard whose servers belong. It is called before u and of are shared.
func (u *used) add(of *used, belongs func(guild string) bool) {
	for channel, use := range of.all {
		if old, ok := u.all[channel]; belongs(use.Guild) && (!ok || old.At < use.At) {
			u.all[channel], u.dirty = use, true
		}
	}
}

// recent returns the channels in use with their servers, latest first.
func (u *used) recent(now time.Time) (channels []string, guilds map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.trim(now)
	guilds = make(map[string]string, len(u.all))
	for c, use := range u.all {
		guilds[c] = use.Guild
	}
	return u.sorted(), guilds
}

// sorted returns the channels, latest first. It requires the lock.
func (u *used) sorted() []string {
	return slices.SortedFunc(maps.Keys(u.all), func(a, b string) int { return int(u.all[b].At - u.all[a].At) })
}

// trim removes old and excess entries. note calls it only at twice the maximum, because sorting for each message would
// be slow. It requires the lock.
func (u *used) trim(now time.Time) {
	least := now.Add(-usedFor).Unix()
	maps.DeleteFunc(u.all, func(_ string, use use) bool { return use.At < least })
	if len(u.all) > mostUsed {
		for _, c := range u.sorted()[mostUsed:] {
			delete(u.all, c)
		}
	}
}

// save stores the changes, if there are any; after an error the next call stores them. store is called without the
// lock, because it writes to the database.
func (u *used) save(now time.Time, store func(string) error) error {
	u.mu.Lock()
	if !u.dirty {
		u.mu.Unlock()
		return nil
	}
	u.trim(now)
	text, err := json.Marshal(u.all)
	// Set under the lock, before the write: a change during the write makes it dirty again.
	u.dirty = false
	u.mu.Unlock()
	if err == nil {
		err = store(string(text))
	}
	if err != nil {
		u.mu.Lock()
		u.dirty = true
		u.mu.Unlock()
	}
	return err
}
