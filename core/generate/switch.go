package generate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"parley/core/access"
	"parley/core/chat"
	"parley/core/llm"
	"parley/core/text"
	"parley/internal/lang"
)

// SettingStore is the part of a store that a [ModelSwitch] uses. Its errors are those of package storage.
type SettingStore interface {
	Notes(ctx context.Context, room chat.RoomID, kind chat.NoteKind, limit int) ([]chat.RoomNote, error)
	Room(ctx context.Context, id chat.RoomID) (chat.Room, error)
	SaveNote(ctx context.Context, n chat.RoomNote) error
}

// ModelSwitch finds the model that answers in a room: the choice of its users, or else the default of the
// configuration. The choice is a setting of the room. It is safe for concurrent use.
type ModelSwitch struct {
	Table  *ModelTable
	Policy access.Policy
	Store  SettingStore
	// Staff reports whether author is an owner or a member of the staff.
	Staff func(ctx context.Context, author chat.EntityID, from chat.Address) (bool, error)
}

// Settings returns the settings of a room, not nil. It fails with the error of the store.
func (s *ModelSwitch) Settings(ctx context.Context, room chat.RoomID) ([]chat.RoomNote, error) {
	notes, err := s.Store.Notes(ctx, room, chat.SettingNote, chat.MaxNotes)
	return append([]chat.RoomNote{}, notes...), err
}

// chosenModel returns the name of the model that was chosen in a room with these settings, or "".
func chosenModel(settings []chat.RoomNote) string {
	for _, n := range settings {
		if n.Key == chat.ModelSetting {
			return n.Text
		}
	}
	return ""
}

// Model returns the model that answers author in a room with these settings. removed reports whether the users chose
// another model that is no longer configured.
func (s *ModelSwitch) Model(settings []chat.RoomNote, room chat.Room, author chat.EntityID) (m llm.Named, removed bool) {
	name := chosenModel(settings)
	if m, ok := s.Table.find(name); ok {
		return m, false
	}
	m, ok := s.Table.find(s.Policy.ModelFor(room, author))
	if !ok {
		m = s.Table.models[0]
	}
	return m, name != ""
}

// Label returns the display name of the model that answers author in room: its name at the provider. It fails with the
// error of the store.
func (s *ModelSwitch) Label(ctx context.Context, room chat.Room, author chat.EntityID) (string, error) {
	settings, err := s.Settings(ctx, room.ID)
	m, _ := s.Model(settings, room, author)
	return cmp.Or(m.Label, m.Name), err
}

// Choice returns the name of author's model in room, for the command /model, or "" if they can't switch
// it. It fails with the error of the store.
func (s *ModelSwitch) Choice(ctx context.Context, room chat.Room, author chat.EntityID) (string, error) {
	can, err := s.Allowed(ctx, room, author)
	if err != nil || !can {
		return "", err
	}
	settings, err := s.Settings(ctx, room.ID)
	m, _ := s.Model(settings, room, author)
	return m.Name, err
}

// SwitchRequest is a call of the command /model.
type SwitchRequest struct {
	Message chat.Memory
	Wanted  string // the model, by its name or number; empty to be asked
	Most    int    // options of a question
	Staff   bool   // the author is staff
	Details bool   // the author sees the providers' names of the models, also without the right to switch
	Others  string // models of other work
}

// Reply returns the reply to /model: the confirmation, or the list of the models and others, with a question for users
// who can switch. For other users without details it names no model. It fails with the error of the store.
func (s *ModelSwitch) Reply(ctx context.Context, r SwitchRequest) (said string, ask *chat.Question, err error) {
	m := r.Message
	room, err := s.Store.Room(ctx, m.Room)
	switch {
	case err != nil:
		return "", nil, err
	case r.Wanted != "":
		said, err = s.to(ctx, room, m.Author, r.Wanted, r.Staff)
		return said, nil, err
	case len(s.Table.models) == 1:
		return cmp.Or(r.Others, lang.Say(ctx, "model.one")), nil, nil
	}
	can, err := s.Allowed(ctx, room, m.Author)
	can = can || r.Staff
	if err != nil || !can && !r.Details {
		return lang.Say(ctx, "model.not_allowed"), nil, err
	}
	if said, err = s.List(ctx, room, m.Author, r.Details); err != nil {
		return "", nil, err
	}
	said = strings.TrimSpace(said + "\n\n" + r.Others)
	if !can {
		return said, nil, nil
	}
	return said + "\n\n" + lang.Say(ctx, "model.which"), &chat.Question{Options: s.options(lang.Of(ctx), r.Most), For: []chat.EntityID{m.Author}, Handler: SwitchHandler}, nil
}

// Allowed reports whether author can choose the model of room. It depends on their account only. It fails with the
// error of Staff.
func (s *ModelSwitch) Allowed(ctx context.Context, room chat.Room, author chat.EntityID) (bool, error) {
	if s.Policy.Switch.Allows(room) {
		return true, nil
	}
	return s.Staff(ctx, author, chat.Address{})
}

// List lists the models, marks the one that answers author in room, and with details adds the providers' names. It
// fails with the error of the store.
func (s *ModelSwitch) List(ctx context.Context, room chat.Room, author chat.EntityID, details bool) (string, error) {
	settings, err := s.Settings(ctx, room.ID)
	if err != nil {
		return "", err
	}
	var lines []string
	answers, removed := s.Model(settings, room, author)
	if removed {
		lines = append(lines, lang.Say(ctx, "model.removed", "model", text.Label(chosenModel(settings))), "")
	}
	for i, m := range s.Table.models {
		name, here := m.Name, ""
		if m.Name == answers.Name {
			name, here = "**"+m.Name+"**", " ("+lang.Say(ctx, "model.here")+")"
		}
		if m.Label != "" && details {
			name += fmt.Sprintf(": `%s`", m.Label)
		}
		lines = append(lines, fmt.Sprintf("%d. %s%s", i+1, name, here))
	}
	return strings.Join(lines, "\n"), nil
}

// options returns at most that many options of a question: the first models, and the default.
func (s *ModelSwitch) options(v lang.Voice, most int) (options []string) {
	for _, m := range s.Table.models {
		options = append(options, m.Name)
	}
	return append(options[:min(len(options), most-1)], v.Say("model.default"))
}

// SwitchHandler is the name of [ModelSwitch] as a choice handler. It is stored with questions.
const SwitchHandler = "switch model"

// Name implements [action.ChoiceHandler].
func (s *ModelSwitch) Name() string { return SwitchHandler }

// Chosen implements [action.ChoiceHandler].
func (s *ModelSwitch) Chosen(ctx context.Context, q chat.Question) (string, error) {
	room, err := s.Store.Room(ctx, q.Room)
	if err != nil {
		return "", err
	}
	return s.To(ctx, room, q.By, q.Options[q.Choice])
}

// To switches room to the model that author names, by its name or its number in the list, and returns the reply.
// Without the right to switch, or with an unknown model, it changes nothing. It fails with the error of the store.
func (s *ModelSwitch) To(ctx context.Context, room chat.Room, author chat.EntityID, wanted string) (string, error) {
	return s.to(ctx, room, author, wanted, false)
}

func (s *ModelSwitch) to(ctx context.Context, room chat.Room, author chat.EntityID, wanted string, staff bool) (string, error) {
	if len(s.Table.models) == 1 {
		return lang.Say(ctx, "model.one"), nil
	}
	if can, err := s.Allowed(ctx, room, author); err != nil || !can && !staff {
		return lang.Say(ctx, "model.not_allowed"), err
	}
	name, told := "", ""
	if i := s.numbered(wanted); i >= 0 {
		name = s.Table.models[i].Name
		told = lang.Say(ctx, "model.switched", "model", name)
	} else if lang.Is("model.default", wanted) {
		m, _ := s.Model(nil, room, author)
		told = lang.Say(ctx, "model.default_again", "model", m.Name)
	} else {
		var names []string
		for _, m := range s.Table.models {
			names = append(names, m.Name)
		}
		return lang.Say(ctx, "model.unknown", "model", text.Label(wanted), "models", strings.Join(names, ", ")), nil
	}
	return told, s.Save(ctx, room.ID, name)
}

// Save stores the name of the model that answers in a room; an empty name removes the choice. It fails with the error
// of the store.
func (s *ModelSwitch) Save(ctx context.Context, room chat.RoomID, name string) error {
	err := s.Store.SaveNote(ctx, chat.RoomNote{Room: room, Kind: chat.SettingNote, Key: chat.ModelSetting, Text: name, At: time.Now()})
	if err != nil {
		return fmt.Errorf("save the model of a room: %w", err)
	}
	return nil
}

// numbered returns the index of the model with this name, or this number in the list, or -1.
func (s *ModelSwitch) numbered(wanted string) int {
	all := s.Table.models
	if i := slices.IndexFunc(all, func(m llm.Named) bool { return strings.EqualFold(m.Name, wanted) }); i >= 0 {
		return i
	}
	if n, err := strconv.Atoi(wanted); err == nil && n >= 1 && n <= len(all) {
		return n - 1
	}
	return -1
}
