package discordworld

import (
	"net/http"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
)

// SendFile implements [connectortest.People].
func (w *Platform) SendFile(from connectortest.User, in connectortest.Room, text string, f connectortest.File) {
	with := attached(f)
	if in == w.group {
		with = append(with, discordfake.MentionBot())
	}
	w.say(from, in, text, with...)
}

// attached makes a message one with f.
func attached(f connectortest.File) []discordfake.SayOption {
	with := []discordfake.SayOption{discordfake.Attach(discordfake.Attachment{Filename: f.Name, ContentType: f.Type, Data: f.Data})}
	if f.Voice {
		with = append(with, discordfake.Spoken())
	}
	return with
}

// Attach sends a file without a mention.
func (w *Platform) Attach(from connectortest.User, in connectortest.Room, f connectortest.File) {
	w.say(from, in, "", attached(f)...)
}

// Undelivered sends a file of which the bot is not told.
func (w *Platform) Undelivered(from connectortest.User, in connectortest.Room, text string, f connectortest.File) connectortest.Message {
	return connectortest.Message{ID: w.say(from, in, text, append(attached(f), discordfake.Undelivered())...)}
}

// Send writes text with what else a message of Discord's can have.
func (w *Platform) Send(from connectortest.User, in connectortest.Room, text string, with ...discordfake.SayOption) connectortest.Message {
	return connectortest.Message{ID: w.say(from, in, text, with...)}
}

// LoseFiles implements [connectortest.Weather].
func (w *Platform) LoseFiles() {
	w.Fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Respond(http.StatusNotFound, nil, ""))
}

// SlowFiles implements [connectortest.Weather].
func (w *Platform) SlowFiles(by time.Duration) {
	w.Fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Delay(by))
}
