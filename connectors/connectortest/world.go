// Package connectortest holds what every platform must do: a suite that each connector passes against a fake of its
// server, and the world of people and rooms in which stories of the whole gateway are told the same way everywhere.
package connectortest

import (
	"net/http"
	"time"

	"parley/progressive"
	"parley/sim"
)

// World is a platform as everybody but the bot knows it: a server with one bot, some people, and rooms. Its limits are
// on. It is safe for concurrent use.
type World interface {
	People
	Weather
	Witness
	// Handler is the server.
	Handler() http.Handler
	// Close ends what the server does beside answering requests.
	Close()
}

// Who is somebody who writes.
type Who string

// Everybody there is. Self is the bot's own account, Robot another bot.
const (
	Ada   Who = "Ada"
	Bob   Who = "Bob"
	Eve   Who = "Eve"
	Self  Who = "Self"
	Robot Who = "Robot"
)

// Place is a room, as the platform names it.
type Place string

// People write, and hear.
type People interface {
	// Account is how the configuration names somebody.
	Account(Who) string
	// Direct is a person's conversation with the bot.
	Direct(Who) Place
	// Group is the room where all are, the bot too, which reads everything there.
	Group() Place
	// Say writes text.
	Say(from Who, in Place, text string)
	// Mention writes text that calls the bot.
	Mention(from Who, in Place, text string)
	// Show sends a file, with or without text; a voice has none. In a group it calls the bot, as Mention does.
	Show(from Who, in Place, text string, f File)
	// Twice has the platform tell the bot twice of what is said in say.
	Twice(say func())
	// Reply writes text as an answer to a message.
	Reply(from Who, in Place, to Line, text string)
	// Edit gives one's own message another text.
	Edit(in Place, m Line, text string)
	// React puts a sign on a message, or takes it away again.
	React(from Who, in Place, m Line, emoji string, added bool)
	// Remove takes a message away, as a person does who may.
	Remove(in Place, m Line)
}

// File is what somebody sends.
type File struct {
	Name, Type string
	Data       []byte
	Voice      bool
}

// Weather is what goes wrong.
type Weather interface {
	// Spoil plans a fault.
	Spoil(Fault)
	// LoseFiles makes all files ones that the server has no more, SlowFiles ones that take long to come.
	LoseFiles()
	SlowFiles(by time.Duration)
	// ClearFaults forgets those that are still to come.
	ClearFaults()
}

// Fault is what becomes of one request of the bot.
type Fault struct {
	Op   progressive.Op
	File bool  // it is about a file, where that is another request than one about a text
	In   Place // empty is anywhere
	Nth  int   // of these requests, from now on; 0 is the first

	// One of these, or Delay alone:
	Hold       time.Duration // refused, with the demand to wait; whole seconds
	Lost       bool          // done, but the connection breaks before the answer
	Dropped    bool          // not done, and the connection breaks
	Lasting    bool          // with BadGateway: all further ones too
	BadGateway bool          // not done, unless it is Lost too: a proxy answers 502
	Markup     bool          // refused because of its markup, on platforms that refuse any
	Forbidden  bool          // refused: the bot has no right to it
	Barred     bool          // refused for good, like all further ones: the bot may not write there any more
	Vanished   bool          // the same: there is no such room any more
	Refused    bool          // refused for good, like all further ones, in words that no list has; Telegram only

	Delay time.Duration // before it is done
	Mute  time.Duration // after it was done, before the answer
}

// Witness saw everything.
type Witness interface {
	// Places are all rooms that anybody wrote in.
	Places() []Place
	// Sees is what stands in a room now, oldest first.
	Sees(Place) []Line
	// Requests are those that changed a room, or tried to, oldest first. Scope is the Place.
	Requests() []sim.Request
	// Refused says which requests a correct bot would not have made, and why: malformed ones, and those that met a limit
	// that no fault imposed, or came before the end of a hold.
	Refused() []string
	// Pings are people whom the bot notified without being asked to.
	Pings() []string
}

// Line is one message of a room.
type Line struct {
	ID       string // as the connector's sink names it
	Own      bool   // the bot wrote it
	Text     string // as people read it now
	Versions []Version
	Files    []File // below it
}

// Version is one state of a message; the first is what was posted.
type Version struct {
	At    time.Time
	Text  string
	Files []File
}

// Own are the texts of the bot's messages that stand in a room now, oldest first.
func Own(w Witness, in Place) (texts []string) {
	for _, m := range w.Sees(in) {
		if m.Own {
			texts = append(texts, m.Text)
		}
	}
	return texts
}
