package sqlite

import (
	"hash/maphash"
	"sync"
)

// mostCached is the maximum size of a cache, in bytes, by the estimates of its values.
const mostCached = 16 << 20

// subject identifies the rows that a value of the cache is read from: the rows of a table that have something in common. The triggers
// in changes.go name the subjects of each row that changes.
type subject struct {
	table string
	id    string // of the room or the entity
	part  string // the kind of the messages or notes; empty in other tables
}

// value is the result of a read about a subject. It is shared by all readers of the cache, so it never changes.
type value interface {
	bytes() int             // an estimate of its memory
	equals(read value) bool // for [Options.Audit]: whether it holds nothing else than a value that was just read
}

// cache holds results of reads until the rows change. Its values are never older than the last write that has returned, because
// this process owns the file: every write goes through [writes], whose transactions report their changes to the cache before they
// return. Access, limits, marks and runs are never cached.
//
// A read can overlap with a write: it must not put an old value into the cache after the write has removed it. So each subject belongs to
// one of some groups, which have a version. The version changes with each commit that changes a subject of the group, and a value is only
// kept if no such commit was under way, or began, since before it was read.
//
// A cache is safe for concurrent use. Beyond mostCached, any values go: if the least recently used ones did, a cache that is too small for
// many busy rooms would find none of them.
type cache struct {
	seed maphash.Seed

	mu       sync.Mutex
	known    map[subject]cachedValue
	bytes    int
	versions [groups]uint64
	changing [groups]int // commits under way
}

// groups bounds the memory for versions. A commit also delays the values of other subjects in the same group, which are read again.
const groups = 256

type cachedValue struct {
	value value
	bytes int
}

func newCache() *cache {
	return &cache{seed: maphash.MakeSeed(), known: map[subject]cachedValue{}}
}

// group returns the number of the group that s belongs to.
func (c *cache) group(s subject) int { return int(maphash.Comparable(c.seed, s) % groups) }

// get returns the value of s, or nil.
func (c *cache) get(s subject) value {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[s].value
}

// ticket is the state of a subject's group before a read.
type ticket struct {
	version uint64
	free    bool // no commit was under way
}

// begin is called before s is read.
func (c *cache) begin(s subject) ticket {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now(s)
}

func (c *cache) now(s subject) ticket {
	g := c.group(s)
	return ticket{c.versions[g], c.changing[g] == 0}
}

// current reports whether a value that was read since t is still the newest.
func (c *cache) current(s subject, t ticket) bool { return t.free && c.begin(s) == t }

// put keeps v, which was read since t, unless it may be old or is large.
func (c *cache) put(s subject, t ticket, v value) {
	n := v.bytes()
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.free && c.now(s) == t && n < mostCached/16 {
		c.drop(s)
		c.add(s, v, n)
	}
}

func (c *cache) add(s subject, v value, bytes int) {
	c.known[s] = cachedValue{v, bytes}
	c.bytes += bytes
	for one := range c.known {
		if c.bytes <= mostCached {
			break
		}
		c.drop(one)
	}
}

// drop forgets the value of s.
func (c *cache) drop(s subject) {
	c.bytes -= c.known[s].bytes
	delete(c.known, s)
}

// committing is called before a commit with its changes.
func (c *cache) committing(all []change) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range all {
		c.changing[c.group(ch.of)]++
	}
}

// committed is called after a commit that committing has announced, before its writes return. ok reports whether it succeeded; if
// not, it may have changed anything.
func (c *cache) committed(all []change, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, ch := range all {
		g := c.group(ch.of)
		c.changing[g]--
		c.versions[g]++
		c.apply(ch, ok)
	}
}

// apply gives the subject of ch the value that it has now, if that is known.
func (c *cache) apply(ch change, ok bool) {
	before := c.known[ch.of].value
	if before == nil {
		return
	}
	c.drop(ch.of)
	if ok && ch.becomes != nil {
		if now := ch.becomes(before); now != nil {
			c.add(ch.of, now, now.bytes())
		}
	}
}

// clear forgets everything.
func (c *cache) clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.known)
	c.bytes = 0
	for g := range c.versions {
		c.versions[g]++
	}
}
