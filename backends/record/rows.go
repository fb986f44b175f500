// Package record defines the stored forms of values in the SQL stores: JSON columns, times, ids that the stores
// compute, and the lists of columns with the functions that scan them. Both stores use it, so their tables hold the
// same values, rows can be moved from one store to the other, and searches find the same messages in both.
//
// Stored forms stay valid: rows were written by earlier versions, and during a rolling deployment earlier versions read
// the rows of this one. So a form is only ever extended: with JSON fields that can be missing, or with columns that a
// migration adds.
//
// Nothing here has state; all functions are safe for concurrent use.
package record

import (
	"database/sql"
	"errors"
	"time"

	"parley/core/chat"
)

// Row is the common interface of the rows of all drivers: Scan reads the columns of the current row.
type Row interface{ Scan(into ...any) error }

// Found turns the drivers' error for a missing row into [chat.ErrNotFound]. That of pgx wraps the one of database/sql.
func Found(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return chat.ErrNotFound
	}
	return err
}

// UnlessMissing returns err, unless it is [chat.ErrNotFound].
func UnlessMissing(err error) error {
	if errors.Is(err, chat.ErrNotFound) {
		return nil
	}
	return err
}

// The roles of a memory in its turn, as they are stored.
const (
	Input  = "input"  // a message that the turn's run answers
	Heard  = "heard"  // a message that is only remembered
	Said   = "said"   // the answer of the turn's run
	Beside = "beside" // messages of the run in addition to its answer
)

// MemoryColumns are the columns that [ScanMemory] reads. MemoryColumnsOfRoom leaves out those that are the same for all
// messages of one kind in one room: each value costs two allocations, and prompts read many messages.
const (
	MemoryColumns       = `id, room, kind, ` + memoryColumns
	MemoryColumnsOfRoom = `id, '', '', ` + memoryColumns
	memoryColumns       = `author, name, text, in_reply_to, at, history, interrupted, failure, content`
)

// ScanMemory reads [MemoryColumns], or fails with [chat.ErrNotFound] without a row.
func ScanMemory(r Row) (chat.Memory, error) { return MemoryScanner()(r) }

// MemoryScanner returns a function that reads [MemoryColumns] of one row after the other. It reuses the destinations,
// which would be allocated for each row, so it must not be called concurrently. The memories that it returns share
// nothing that can be changed. Columns behind these are read into more.
func MemoryScanner(more ...any) func(Row) (chat.Memory, error) {
	var m chat.Memory
	var c content
	into := []any{&m.ID, &m.Room, &m.Kind, &repeated[chat.EntityID]{into: &m.Author}, &repeated[string]{into: &m.Name}, &m.Text, &m.InReplyTo,
		TimeInto(&m.At), JSONInto(&m.History), &m.Interrupted, &m.Failure, &contentColumn{into: &c}}
	into = append(into, more...)
	return func(r Row) (chat.Memory, error) {
		m, c = chat.Memory{}, content{}
		err := r.Scan(into...)
		c.fill(&m)
		return m, Found(err)
	}
}

// ReadBack returns the memory that was stored with these columns, as a reader gets it. It fails if a column can't be
// parsed.
func ReadBack(m chat.Memory, history, content string) (chat.Memory, error) {
	m.At, m.History = Time(Nanos(m.At)), nil
	c, err := contentOf(content)
	c.fill(&m)
	return m, errors.Join(err, jsonColumn{&m.History}.ScanText(history))
}

// HeldRun is a run with the name of its last owner, which only stores need.
type HeldRun struct {
	chat.Run
	Owner string
}

// ScanRun reads a run, with the columns of the selectRuns of both stores. A verdict that was never stored has no
// status. Without a row the error is [chat.ErrNotFound].
func ScanRun(r Row) (run HeldRun, err error) {
	var v verdict
	var o outcome
	err = r.Scan(&run.ID, &run.Response, &run.Room, &run.RoomKind, JSONInto(&run.Address), &run.Author, TimeInto(&run.Opened),
		TimeInto(&run.Ready), &run.Kind, &run.Epoch, &run.Held, &run.Owner,
		&run.Deaths, &run.Blamed, &run.Attempts, &run.Retried,
		&run.Outcome.Status, &run.Outcome.Failure, &run.Outcome.Withdrawn, &run.Outcome.Partial,
		JSONInto(&run.Shown), &run.Text, &run.Acting, &run.Acted, JSONInto(&v), &run.Parked, &run.Lasting, &run.Ending, &run.Continues, JSONInto(&o), JSONInto(&run.Inputs))
	if v.Outcome.Done() {
		run.Verdict = (*chat.Verdict)(&v)
	}
	if o.Epoch == run.Epoch {
		run.Outcome.Usage, run.Outcome.Reason, run.Outcome.Effort = o.Usage, o.Reason, o.Effort
	}
	return run, Found(err)
}

// RoomColumns are the columns that [ScanRoom] reads.
const RoomColumns = `id, world, kind, connector, name, chats, created, address, gone`

// ScanRoom reads [RoomColumns], or fails with [chat.ErrNotFound] without a row.
func ScanRoom(from Row) (r chat.Room, err error) {
	err = from.Scan(&r.ID, &r.World, &r.Kind, &r.Connector, &r.Name, JSONInto(&r.Chats), TimeInto(&r.Created), JSONInto(&r.Address), &r.Gone)
	return r, Found(err)
}

// NoteColumns are the columns that [ScanNote] reads.
const NoteColumns = `room, kind, key, about, text, first, last, at, expires`

// ScanNote reads [NoteColumns], and fails as r does.
func ScanNote(r Row) (n chat.RoomNote, err error) {
	err = r.Scan(&n.Room, &n.Kind, &n.Key, &n.About, &n.Text, &n.First, &n.Last, TimeInto(&n.At), TimeInto(&n.Expires))
	return n, err
}

// ApprovalColumns are the columns that [ScanApproval] reads.
const ApprovalColumns = `id, room, run, call, tool, kind, arguments, effect, asker, at, expires, decision, decider, decided`

// ScanApproval reads [ApprovalColumns], or fails with [chat.ErrNotFound] without a row.
func ScanApproval(r Row) (a chat.Approval, err error) {
	err = r.Scan(&a.ID, &a.Room, &a.Run, &a.Call, &a.Tool, &a.Kind, &a.Arguments, &a.Effect, &a.Asker, TimeInto(&a.At), TimeInto(&a.Expires),
		&a.Decision, &a.By, TimeInto(&a.Decided))
	return a, Found(err)
}

// PersonColumns are the columns that [ScanPerson] reads.
const PersonColumns = `id, name, address, owner, since`

// ScanPerson reads [PersonColumns], or fails with [chat.ErrNotFound] without a row.
func ScanPerson(r Row) (p chat.Person, err error) {
	err = r.Scan(&p.ID, &p.Name, JSONInto(&p.Address), &p.Owner, TimeInto(&p.Since))
	return p, Found(err)
}

// RequestColumns are the columns that [ScanRequest] reads.
const RequestColumns = `id, name, address, since, code, ends, told`

// ScanRequest reads [RequestColumns], or fails with [chat.ErrNotFound] without a row.
func ScanRequest(r Row) (k chat.PairingRequest, err error) {
	err = r.Scan(&k.ID, &k.Name, JSONInto(&k.Address), TimeInto(&k.Since), &k.Code, TimeInto(&k.Ends), TimeInto(&k.Told))
	return k, Found(err)
}

// ScanQuestion reads the columns question and expires. The JSON of a question has its original time limit; the
// column is changed when it is withdrawn, so it takes precedence. Without a row the error is [chat.ErrNotFound].
func ScanQuestion(r Row) (q chat.Question, err error) {
	var expires time.Time
	err = r.Scan(JSONInto(&q), TimeInto(&expires))
	q.Expires = expires
	return q, Found(err)
}

// ScanEntity reads id, connector, names, bot and details, or fails with [chat.ErrNotFound] without a row.
func ScanEntity(r Row) (e chat.Entity, err error) {
	err = r.Scan(&e.ID, &e.Connector, JSONInto(&e.Names), &e.Bot, JSONInto(&e.Details))
	return e, Found(err)
}

// ScanWorld reads id, connector, name and gone, or fails with [chat.ErrNotFound] without a row.
func ScanWorld(r Row) (w chat.World, err error) {
	err = r.Scan(&w.ID, &w.Connector, &w.Name, &w.Gone)
	return w, Found(err)
}

// ScanMember reads world, entity, role and gone, and fails as r does.
func ScanMember(r Row) (m chat.Member, err error) {
	err = r.Scan(&m.World, &m.Entity, &m.Role, &m.Gone)
	return m, err
}

// ScanReplica reads the name of a process, the end of its lease, whether it leaves, and the number of its runs. It
// fails as r does.
func ScanReplica(r Row) (p chat.Replica, err error) {
	err = r.Scan(&p.Owner, TimeInto(&p.AliveUntil), &p.Leaving, &p.Runs)
	return p, err
}

// ScanShown adds the messages that a run shows to all, and returns the run. If r fails, all is unchanged.
func ScanShown(r Row, all map[chat.RunID][]chat.Shown) (id chat.RunID, err error) {
	var shown []chat.Shown
	if err := r.Scan(&id, JSONInto(&shown)); err != nil {
		return "", err
	}
	all[id] = shown
	return id, nil
}

// ReminderColumns are the columns that [ScanReminder] reads.
const ReminderColumns = `id, room, person, due, content`

// reminder is the stored form of the fields of a [chat.Reminder] that no query compares.
type reminder struct {
	Name   string        `json:"name,omitempty"`
	Text   string        `json:"text"`
	First  time.Time     `json:"first"`
	Repeat string        `json:"repeat,omitempty"`
	Zone   string        `json:"zone,omitempty"`
	Asked  chat.MemoryID `json:"asked,omitempty"`
}

// Reminder returns the stored form of the fields of r that have no column of their own.
func Reminder(r chat.Reminder) string {
	return JSON(reminder{r.Name, r.Text, r.First.UTC(), r.Repeat, r.Zone, r.Asked})
}

// ScanReminder reads [ReminderColumns], or fails with [chat.ErrNotFound] without a row.
func ScanReminder(from Row) (r chat.Reminder, err error) {
	var c reminder
	err = from.Scan(&r.ID, &r.Room, &r.Person, TimeInto(&r.Due), JSONInto(&c))
	r.Name, r.Text, r.First, r.Repeat, r.Zone, r.Asked = c.Name, c.Text, c.First, c.Repeat, c.Zone, c.Asked
	return r, Found(err)
}

// CheckReminder returns an error if r could not be read back as it is.
func CheckReminder(r chat.Reminder) error {
	return CheckText(r.ID, string(r.Room), string(r.Person), r.Name, r.Text, r.Repeat, r.Zone, string(r.Asked))
}

// UploadColumns are the columns that [ScanUpload] reads.
const UploadColumns = `id, room, sender, message, name, type, size, at, attempt, complete, thumbnail, evicted`

// ScanUpload reads [UploadColumns], or fails with [chat.ErrNotFound] without a row.
func ScanUpload(r Row) (u chat.Upload, err error) {
	err = r.Scan(&u.ID, &u.Room, &u.Sender, &u.Message, &u.Name, &u.Type, &u.Size, TimeInto(&u.At), &u.Attempt, &u.Complete, &u.Thumbnail, &u.Evicted)
	return u, Found(err)
}

// CheckUpload returns an error if u could not be read back as it is.
func CheckUpload(u chat.Upload) error {
	return CheckText(u.ID, string(u.Room), string(u.Sender), u.Name, u.Type, u.Attempt)
}

// UploadBytes is the number of stored bytes of an upload, as an expression over the table uploads: of one that is not
// complete, those that have arrived.
const UploadBytes = `CASE WHEN complete THEN size ELSE (SELECT CAST(coalesce(sum(length(data)), 0) AS bigint) FROM upload_pieces WHERE upload = uploads.id AND n >= 0) END`

// StoredBytes selects the bytes of all uploads. The sizes are read from an index; only the few uploads that are not
// complete are looked at one by one.
const StoredBytes = `SELECT CAST((SELECT coalesce(sum(size), 0) FROM uploads WHERE NOT evicted) -
	(SELECT coalesce(sum(size - ` + UploadBytes + `), 0) FROM uploads WHERE message = '' AND NOT complete) AS bigint)`

// LargestSender selects the sender with the most stored bytes; of several, the one with the oldest upload.
const LargestSender = `SELECT sender FROM uploads WHERE NOT evicted GROUP BY sender ORDER BY sum(` + UploadBytes + `) DESC, min(at) LIMIT 1`
