// Package connectortest holds the requirements for every platform: a suite that each connector passes against a fake of
// its server, and the users and rooms with which whole-gateway tests run on every platform.
package connectortest

import (
	"net/http"
	"time"

	"parley/progressive"
	"parley/sim"
)

// Platform is a platform from outside the bot: a server with one bot, some users, and rooms. Its rate limits are on. It is
// safe for concurrent use.
type Platform interface {
	Users
	FaultInjector
	Observer
	// Handler returns the server.
	Handler() http.Handler
	// Close stops the server's background work.
	Close()
}

// User is a user.
type User string

// All users. Self is the bot's own account, Robot another bot.
const (
	Ada   User = "Ada"
	Bob   User = "Bob"
	Eve   User = "Eve"
	Self  User = "Self"
	Robot User = "Robot"
)

// Room is a room's id on the platform.
type Room string

// Users acts as the users.
type Users interface {
	// Account returns a user's name in the configuration.
	Account(User) string
	// Direct returns a user's conversation with the bot.
	Direct(User) Room
	// Group returns the room with all users and the bot, which can read everything there.
	Group() Room
	// Say sends a message.
	Say(from User, in Room, text string)
	// Mention sends a message that mentions the bot.
	Mention(from User, in Room, text string)
	// SendFile sends a file, with or without text; a voice message has none. In a group it mentions the bot, like Mention.
	SendFile(from User, in Room, text string, f File)
	// DeliverTwice makes the platform deliver each message sent by say twice.
	DeliverTwice(say func())
	// Reply sends a reply to a message.
	Reply(from User, in Room, to Message, text string)
	// Edit changes the text of a user's own message.
	Edit(in Room, m Message, text string)
	// React adds or removes a reaction.
	React(from User, in Room, m Message, emoji string, added bool)
	// Remove deletes a message, as an authorized user.
	Remove(in Room, m Message)
}

// File is a file from a user.
type File struct {
	Name, Type string
	Data       []byte
	Voice      bool
}

// FaultInjector injects faults.
type FaultInjector interface {
	// InjectFault adds a fault.
	InjectFault(Fault)
	// LoseFiles makes all files unavailable on the server; SlowFiles delays their downloads.
	LoseFiles()
	SlowFiles(by time.Duration)
	// ClearFaults removes the pending faults.
	ClearFaults()
}

// Fault is what happens to one request of the bot.
type Fault struct {
	Op   progressive.Op
	File bool // it affects file requests, where those differ from text requests
	In   Room // empty is any room
	Nth  int  // which of the matching requests; 0 is the next

	// One of these, or Delay alone:
	Hold       time.Duration // refused, with the demand to wait; whole seconds
	Lost       bool          // applied, but the connection breaks before the response
	Dropped    bool          // not applied, and the connection breaks
	Lasting    bool          // with BadGateway: all further ones too
	BadGateway bool          // not applied, unless it is Lost too: a proxy answers 502
	Markup     bool          // refused because of its markup, on platforms that refuse any
	Forbidden  bool          // refused: the bot lacks the permission
	Barred     bool          // refused permanently, like all further ones: the bot may not write there any more
	Vanished   bool          // the same: the room no longer exists
	Refused    bool          // refused permanently, like all further ones, with an unknown description; Telegram only

	Delay time.Duration // before it is applied
	Mute  time.Duration // after it was applied, before the response
}

// Observer reports what happened.
type Observer interface {
	// Rooms returns all rooms with messages.
	Rooms() []Room
	// Messages returns the messages that a room shows now, oldest first.
	Messages(Room) []Message
	// Requests returns the requests that changed a room, or tried to, oldest first. Scope is the Room.
	Requests() []sim.Request
	// Refused returns the requests that a correct bot would not have made, and the reasons: malformed ones, and those
	// that exceeded a rate limit without an injected fault, or came before the end of a hold.
	Refused() []string
	// Pings returns the users that the bot notified without being asked to.
	Pings() []string
	// Notified returns the first texts of the bot's messages in a room that notified its users, oldest first. It includes messages that
	// were deleted since.
	Notified(Room) []string
}

// Message is one message of a room.
type Message struct {
	ID       string // the id that the connector's sink uses
	ByBot    bool   // sent by the bot
	Text     string // the current text
	Versions []Version
	Files    []File // below it

	Reactions []string // the bot's own
}

// Version is one state of a message; the first is what was posted.
type Version struct {
	At    time.Time
	Text  string
	Files []File
}

// BotTexts returns the texts of the bot's messages that a room shows now, oldest first.
func BotTexts(w Observer, in Room) (texts []string) {
	for _, m := range w.Messages(in) {
		if m.ByBot {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
