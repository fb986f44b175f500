package sqlite

import (
	"context"
	"fmt"

	driver "zombiezen.com/go/sqlite"
)

// The tables whose rows are cached. Of rooms, the attention has a subject of its own: the rest changes with each message.
const (
	cachedMemories  = "memories"
	cachedNotes     = "room_notes"
	cachedAbout     = "notes about" // of room_notes, by the person that they are about
	cachedRooms     = "rooms"
	cachedAttention = "attention"
	cachedEntities  = "entities"
	cachedQuestions = "questions"
)

// change is the effect of a transaction on a subject.
type change struct {
	of subject
	// becomes returns the value of the subject after the change from the one before. If it is nil, the value has to be read again.
	becomes func(before value) value
}

// changes collects the changes of the writer's transaction. Triggers report them, row by row, so no statement can change
// a subject of the cache unnoticed, whatever it is for. Only the goroutine of the writer uses it.
type changes struct {
	all      []change
	expected change // the effect of the running statement, where that is known; otherwise zero
	happened bool   // it was reported
}

// triggers lists the events that change cached values of a table, and the calls that report the subjects.
var triggers = []struct{ event, call string }{
	{"INSERT ON memories", "changed('memories', new.room, new.kind)"},
	{"DELETE ON memories", "changed('memories', old.room, old.kind)"},
	{"UPDATE ON memories", "changed('memories', old.room, old.kind), changed('memories', new.room, new.kind)"},
	{"INSERT ON room_notes", "changed('room_notes', new.room, new.kind), changed('notes about', new.about, new.kind)"},
	{"DELETE ON room_notes", "changed('room_notes', old.room, old.kind), changed('notes about', old.about, old.kind)"},
	{"UPDATE ON room_notes", "changed('room_notes', old.room, old.kind), changed('room_notes', new.room, new.kind)"},
	{"UPDATE ON room_notes", "changed('notes about', old.about, old.kind), changed('notes about', new.about, new.kind)"},
	{"INSERT ON rooms", "changed('rooms', new.id, ''), changed('attention', new.id, '')"},
	{"DELETE ON rooms", "changed('rooms', old.id, ''), changed('attention', old.id, '')"},
	{"UPDATE OF id, attention ON rooms", "changed('attention', old.id, ''), changed('attention', new.id, '')"},
	// Every accepted message updates its room, most of them only the turn number, which is not cached.
	{
		`UPDATE ON rooms WHEN (old.id, old.world, old.kind, old.connector, old.name, old.created, old.chats, old.address, old.gone)
			IS NOT (new.id, new.world, new.kind, new.connector, new.name, new.created, new.chats, new.address, new.gone)`,
		"changed('rooms', old.id, ''), changed('rooms', new.id, '')",
	},
	{"INSERT ON entities", "changed('entities', new.id, '')"},
	{"DELETE ON entities", "changed('entities', old.id, '')"},
	{"UPDATE ON entities", "changed('entities', old.id, ''), changed('entities', new.id, '')"},
	{"INSERT ON questions", "changed('questions', new.room, '')"},
	{"DELETE ON questions", "changed('questions', old.room, '')"},
	{"UPDATE ON questions", "changed('questions', old.room, ''), changed('questions', new.room, '')"},
}

// watch has triggers of the connection c, which are not stored in the file, report changes to the result.
func watch(ctx context.Context, c *conn) (*changes, error) {
	all := &changes{}
	err := c.db.CreateFunction("changed", &driver.FunctionImpl{
		NArgs:         3,
		AllowIndirect: true, // triggers call it
		Scalar: func(_ driver.Context, args []driver.Value) (driver.Value, error) {
			all.add(subject{args[0].Text(), args[1].Text(), args[2].Text()})
			return driver.Value{}, nil
		},
	})
	if err != nil {
		return nil, err
	}
	for i, t := range triggers {
		if _, err := c.ExecContext(ctx, fmt.Sprintf(`
			CREATE TEMP TRIGGER changed_%d AFTER %s BEGIN
				SELECT %s;
			END`, i, t.event, t.call)); err != nil {
			return nil, fmt.Errorf("watching %s: %w", t.event, err)
		}
	}
	return all, nil
}

// add records that s has changed.
func (c *changes) add(s subject) {
	ch := change{of: s}
	if c.expected.of == s {
		if c.happened { // the trigger names the subject before and after
			return
		}
		ch, c.happened = c.expected, true
	} else if n := len(c.all); n > 0 && c.all[n-1].of == s && c.all[n-1].becomes == nil {
		return // as with each message of a room that is cleared
	}
	c.all = append(c.all, ch)
}

// expecting calls do, which runs one statement that changes at most one row of the subject of ch.
func (c *changes) expecting(ch change, do func() error) error {
	c.expected, c.happened = ch, false
	defer func() { c.expected = change{} }()
	return do()
}

// forget drops all changes but the first n. With n = 0 it is ready for the next transaction.
func (c *changes) forget(n int) {
	clear(c.all[n:])
	c.all = c.all[:n]
}
