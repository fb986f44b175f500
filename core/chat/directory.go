package chat

import (
	"maps"
	"slices"
)

// Entity is a person, a bot, or whatever else writes.
type Entity struct {
	ID        EntityID
	Connector string
	Names     []string // under which it was met, in the order in which they came up; at most MaxNames, the oldest go
	Bot       bool
	// Details are what the agent noted of it, by what they are about, such as a language. Nothing follows from them: they are
	// what people say of themselves.
	Details map[string]string
}

// MaxNames is how many names of an entity are known.
const MaxNames = 10

// Renamed returns names with name, unless it is among them or empty.
func Renamed(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	names = append(slices.Clone(names), name)
	return names[max(0, len(names)-MaxNames):]
}

// Detailed returns details with those of more.
func Detailed(details, more map[string]string) map[string]string {
	all := maps.Clone(details)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// World is what rooms belong to: a server, a workspace, a group with its topics.
type World struct {
	ID        WorldID
	Connector string
	Name      string // as people know it; may be empty
	Gone      bool   // the agent is no longer there
}

// Member is what somebody is in a world.
type Member struct {
	World  WorldID
	Entity EntityID
	Role   string // the platform's word for it; may be empty
	Gone   bool   // it was there
}

// News says what saving something has changed.
type News uint8

// The kinds of news.
const (
	Nothing News = iota // it was stored just so
	Changed             // it was known, and something of it is new
	Came                // it was not known, or was gone
	Went                // it is gone now, and was not
)

// NewsOf compares what is stored with what it was: whether it was known, whether it was gone and is, and whether
// anything else of it is new. What is not known and gone is no news.
func NewsOf(known, wasGone, gone, changed bool) News {
	switch {
	case !gone && (!known || wasGone):
		return Came
	case gone && known && !wasGone:
		return Went
	case known && changed:
		return Changed
	}
	return Nothing
}
