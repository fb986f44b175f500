// Package remind is a plugin for reminders that the agent sends to users. Reminders are stored, so
// they outlast restarts. Several replicas can look after the same ones: a reminder is sent under a key of its time, and
// of several messages with one key only the first is sent.
//
// A reminder belongs to the person and the room of the request, and is sent there. It is sent before it is
// moved to its next time: after a crash in between it is sent again under the same key, which has no effect. So it is
// sent exactly once, or late.
package remind

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"parley/core/action"
	"parley/core/chat"
	"parley/core/storage"
	"parley/internal/quiethours"
)

const (
	perPerson = 20  // reminders at a time
	perRoom   = 50  // likewise
	longest   = 500 // characters of a text
	farthest  = 5 * 366 * 24 * time.Hour
)

// Options configure the plugin. All but Count are required.
type Options struct {
	Store Store
	Zone  *time.Location   // of times without one
	Quiet quiethours.Hours // reminders that are due then are sent when they end
	// Count counts a reminder as a message of its person and room. If a limit is reached, it returns when that resets. It can be nil.
	Count func(ctx context.Context, r chat.Reminder) (until time.Time, err error)
	Log   *slog.Logger
}

// Store contains the methods of a [storage.Store] that the plugin uses.
type Store interface {
	storage.Reminders
	Attention(ctx context.Context, room chat.RoomID) (chat.Attention, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
}

// New returns the plugin.
func New(o Options) action.Plugin {
	p := &plugin{Options: o}
	return action.Plugin{
		Name: "remind", Actions: []action.Action{remindMe{p}, cancelReminder{p}}, Commands: []action.Command{{Name: chat.RemindersCommand, Run: p.command}},
		Init: func(_ context.Context, s action.Services) error {
			p.say = s.Say
			return nil
		},
		Work: p.work, Initiative: true,
	}
}

// plugin is safe for concurrent use after Init.
type plugin struct {
	Options
	say func(context.Context, chat.Notice) (chat.Accepted, error) // from Init on
}

// zoneOf returns the time zone with a name, or the configured one.
func (p *plugin) zoneOf(name string) (*time.Location, error) {
	if name == "" {
		return p.Zone, nil
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, errors.New("time_zone must be a name such as Europe/Berlin")
	}
	return zone, nil
}

// localTime returns t in the time zone of r.
func (p *plugin) localTime(r chat.Reminder, t time.Time) time.Time {
	zone, err := p.zoneOf(r.Zone)
	if err != nil { // this machine does not know it
		zone = p.Zone
	}
	return t.In(zone)
}
