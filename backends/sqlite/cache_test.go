package sqlite

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"parley/core/chat"
)

func room(n int) subject { return subject{cachedRooms, fmt.Sprint(n), ""} }

func named(name string) value { return cachedRoom{chat.Room{Name: name}} }

// What was read before a commit, or while it was under way, must not hide what was committed.
func TestCacheKeepsNothingOld(t *testing.T) {
	for name, play := range map[string]func(c *cache, read func() (put func())){
		"read before, kept after": func(c *cache, read func() func()) {
			put := read()
			c.committing([]change{{of: room(1)}})
			c.committed([]change{{of: room(1)}}, true)
			put()
		},
		"read before, kept meanwhile": func(c *cache, read func() func()) {
			put := read()
			c.committing([]change{{of: room(1)}})
			put()
			c.committed([]change{{of: room(1)}}, true)
		},
		"read meanwhile, kept after": func(c *cache, read func() func()) {
			c.committing([]change{{of: room(1)}})
			put := read()
			c.committed([]change{{of: room(1)}}, true)
			put()
		},
		"read and kept meanwhile, and it may be the state after": func(c *cache, read func() func()) {
			becomes := func(value) value { return named("twice") }
			c.committing([]change{{room(1), becomes}})
			read()()
			c.committed([]change{{room(1), becomes}}, true)
		},
		"another program": func(c *cache, read func() func()) {
			put := read()
			c.clear()
			put()
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCache()
			play(c, func() func() {
				before := c.begin(room(1))
				return func() { c.put(room(1), before, named("read")) }
			})
			if v := c.get(room(1)); v != nil {
				t.Errorf("it holds %v", v)
			}
			c.put(room(1), c.begin(room(1)), named("new"))
			if v := c.get(room(1)); !reflect.DeepEqual(v, named("new")) {
				t.Errorf("afterwards it holds %v", v)
			}
		})
	}
}

// What was read is the newest if nothing was committed since, and no commit was under way.
func TestCacheKnowsWhatIsCurrent(t *testing.T) {
	c, all := newCache(), []change{{of: room(1)}}
	before := c.begin(room(1))
	if !c.current(room(1), before) {
		t.Error("current is false without a commit; want true")
	}
	c.committing(all)
	during := c.begin(room(1))
	if c.current(room(1), before) || c.current(room(1), during) {
		t.Error("current is true during a commit; want false")
	}
	c.committed(all, true)
	if c.current(room(1), before) || c.current(room(1), during) {
		t.Error("current is true after a commit of the same room; want false")
	}
}

func TestCacheFollowsCommits(t *testing.T) {
	renamed := []change{{room(1), func(before value) value { return named(before.(cachedRoom).Name + "!") }}}
	for name, c := range map[string]struct {
		all  []change
		ok   bool
		want value
	}{
		"a known change":             {renamed, true, named("old!")},
		"two":                        {append(renamed, renamed...), true, named("old!!")},
		"a known one after another":  {append([]change{{of: room(1)}}, renamed...), true, nil},
		"another after a known one":  {append(renamed[:1:1], change{of: room(1)}), true, nil},
		"one that can't be computed": {[]change{{room(1), func(value) value { return nil }}}, true, nil},
		"of which nothing is known":  {renamed, false, nil},
		"of another subject":         {[]change{{of: room(2)}}, true, named("old")},
	} {
		t.Run(name, func(t *testing.T) {
			cache := newCache()
			cache.put(room(1), cache.begin(room(1)), named("old"))
			cache.committing(c.all)
			cache.committed(c.all, c.ok)
			if v := cache.get(room(1)); !reflect.DeepEqual(v, c.want) {
				t.Errorf("it holds %v; want %v", v, c.want)
			}
			if cache.get(room(1)) == nil && cache.bytes != 0 {
				t.Errorf("it counts %d bytes", cache.bytes)
			}
		})
	}
}

// It is bounded, and a single large value is not kept. If twice as much as it can hold is used in turn, a part of it is found.
func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	put := func(n, bytes int) { c.put(room(n), c.begin(room(n)), named(strings.Repeat("x", bytes))) }
	const each = mostCached / 32
	found := 0
	for n := range 64 * 50 {
		if c.get(room(n%64)) != nil {
			found++
			continue
		}
		put(n%64, each)
		if c.bytes > mostCached || len(c.known) > 32 {
			t.Fatalf("it holds %d subjects, %d bytes", len(c.known), c.bytes)
		}
	}
	if len(c.known) < 30 || found < 64*50/10 {
		t.Errorf("it holds %d subjects, and found %d times what was asked for", len(c.known), found)
	}
	put(100, mostCached/16)
	if c.get(room(100)) != nil {
		t.Error("the cache keeps a value that is too large; want it left out")
	}
	c.clear()
	if c.bytes != 0 || len(c.known) != 0 {
		t.Errorf("cleared, it holds %d bytes", c.bytes)
	}
}
