package chat

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"parley/core/text"
	"parley/internal/lang"
)

// Entity is a person, a bot, or any other author.
type Entity struct {
	ID        EntityID
	Connector string
	Names     []string // all its names, oldest first; at most MaxNames, the oldest are dropped
	Bot       bool
	// Details are facts about the person by subject, such as a language. They grant no rights, because users state
	// them about themselves.
	Details map[string]string
}

// Name returns the newest name of e, or "".
func (e Entity) Name() string { return strings.Join(e.Names[max(0, len(e.Names)-1):], "") }

// LocaleDetail is the subject of the detail with the language of a person's client, as a tag such as "de-DE".
const LocaleDetail = "locale"

// Details with languages of a person besides [LocaleDetail]: the one that they chose with /language, and that of the
// place where they wrote last, as tags.
const (
	LanguageDetail    = "chosen language"
	PlaceLocaleDetail = "place locale"
)

// VoiceDetail is the subject of the detail of a person who wants spoken answers.
const VoiceDetail = "spoken answers"

// NotifyDetail is the subject of the detail of a person who wants no notification at the end of a long answer.
const NotifyDetail = "silent ends"

// Voice returns the voice for the sentences to e: in the language that they chose, or else that of their client, or of
// the place.
func (e Entity) Voice() lang.Voice {
	return lang.In(e.Details[LanguageDetail], e.Details[LocaleDetail], e.Details[PlaceLocaleDetail])
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

// Person is the owner or a user with the owner's approval.
type Person struct {
	ID      EntityID
	Name    string  // their display name at that time
	Address Address // their direct chat
	Owner   bool
	Since   time.Time
}

// Label describes p to users unambiguously: names are not unique, and anyone can choose any name, even one that looks
// like a link.
func (p Person) Label() string {
	name := text.Unmarked(p.Name)
	if name == "" {
		return p.ID.Account()
	}
	return fmt.Sprintf("%s (%s)", name, p.ID.Account())
}

// PairingRequest is a user's request for approval. One without an ID is reserved for the future owner.
type PairingRequest struct {
	Person
	Code string    // the pairing code; the owner approves the user by sending it
	Ends time.Time // when the code expires; zero for never
	Told time.Time // when they last received the code
}

// PairingRule limits pairing requests.
type PairingRule struct {
	Limit       int           // maximum number of pending requests per connector
	RepeatAfter time.Duration // when a user can receive the code again
}

// PersonalPage is a part of the stored data about a person.
type PersonalPage struct {
	Section string            // the kind of the records, such as "messages"
	Records []json.RawMessage // JSON objects
	Next    string            // the beginning of the next page; empty: this was the last one
}

// ListedRoom is an entry of a list of rooms.
type ListedRoom struct {
	ID              RoomID
	Connector, Name string
	// The newest message of a user.
	At         time.Time
	Author     EntityID
	AuthorName string
}

// PersonalDeletion is the result of a step of the deletion of a person's data.
type PersonalDeletion struct {
	Deleted map[string]int // how many records of each section were deleted
	More    bool           // there is more to delete
	Open    int            // answers to the person that have not ended yet; their records stay until they have
}
