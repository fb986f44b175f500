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
				t.Errorf("it holds %v", v)
			}
			if cache.get(room(1)) == nil && (cache.bytes != 0 || cache.recent.Len() != 0) {
				t.Errorf("it counts %d bytes", cache.bytes)
			}
		})
	}
}

// It is bounded: what was not used for the longest time goes, and a single large value is not kept.
func TestCacheIsBounded(t *testing.T) {
	c := newCache()
	put := func(n, bytes int) { c.put(room(n), c.begin(room(n)), named(strings.Repeat("x", bytes))) }
	const each = mostCached / 32
	for n := range 100 {
		put(n, each)
		c.get(room(0))
	}
	if c.bytes > mostCached || len(c.known) != c.recent.Len() || len(c.known) < 30 {
		t.Errorf("it holds %d subjects, %d bytes", len(c.known), c.bytes)
	}
	if c.get(room(0)) == nil || c.get(room(1)) != nil || c.get(room(99)) == nil {
		t.Error("it has not kept what was used last")
	}
	put(100, mostCached/16)
	if c.get(room(100)) != nil {
		t.Error("it keeps a large value")
	}
	c.clear()
	if c.bytes != 0 || len(c.known) != 0 || c.recent.Len() != 0 {
		t.Errorf("cleared, it holds %d bytes", c.bytes)
	}
}
