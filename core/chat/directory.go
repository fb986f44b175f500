package chat

import (
	"maps"
	"slices"
)

// Entity is a person, a bot, or any other author.
type Entity struct {
	ID        EntityID
	Connector string
	Names     []string // all its names, oldest first; at most MaxNames, the oldest are dropped
	Bot       bool
	// Details are facts about the person by subject, such as a language. They grant no rights, because people state
	// them about themselves.
	Details map[string]string
}

// MaxNames is how many names of an entity are stored.
const MaxNames = 10

// Renamed returns names with name appended, unless it is present or empty.
func Renamed(names []string, name string) []string {
	if name == "" || slices.Contains(names, name) {
		return names
	}
	names = append(slices.Clone(names), name)
	return names[max(0, len(names)-MaxNames):]
}

// Detailed returns details merged with more.
func Detailed(details, more map[string]string) map[string]string {
	all := maps.Clone(details)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, more)
	maps.DeleteFunc(all, func(_, text string) bool { return text == "" })
	return all
}

// World groups rooms: a server, a workspace, a group with its topics.
type World struct {
	ID        WorldID
	Connector string
	Name      string // its display name; can be empty
	Gone      bool   // the agent has left it
}

// Member is a person's membership in a world.
type Member struct {
	World  WorldID
	Entity EntityID
	Role   string // the platform's term; can be empty
	Gone   bool   // the person has left
}

// News describes the effect of a save.
type News uint8

// The kinds of news.
const (
	Nothing News = iota // unchanged
	Changed             // known, with new data
	Came                // new, or back
	Went                // newly gone
)

// NewsOf compares the stored state with the previous one: whether it was known, whether it was gone and is, and whether
// other data changed. Something unknown that is gone is no news.
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
