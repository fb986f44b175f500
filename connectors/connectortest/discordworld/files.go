package discordworld

import (
	"net/http"
	"time"

	"parley/connectors/connectortest"
	"parley/connectors/discord/discordfake"
)

// Show implements [connectortest.People].
func (w *World) Show(from connectortest.Who, in connectortest.Place, text string, f connectortest.File) {
	with := []discordfake.SayOption{discordfake.Attach(discordfake.Attachment{Filename: f.Name, ContentType: f.Type, Data: f.Data})}
	if f.Voice {
		with = append(with, discordfake.Spoken())
	}
	if in == w.group {
		with = append(with, discordfake.MentionBot())
	}
	w.say(from, in, text, with...)
}

// LoseFiles implements [connectortest.Weather].
func (w *World) LoseFiles() {
	w.Fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Respond(http.StatusNotFound, nil, ""))
}

// SlowFiles implements [connectortest.Weather].
func (w *World) SlowFiles(by time.Duration) {
	w.Fake.Fault(discordfake.Match{Route: discordfake.GetFile, Times: -1}, discordfake.Delay(by))
}
