package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"parley/core/chat"
)

// PersonalTable selects the rows of a table that are about a person. Every table of [Tables] has one, so that a new
// table can't be forgotten: a test compares them.
type PersonalTable struct {
	Section string // the name in an export; several tables have one each
	Table          // Columns are those that an export shows
	Where   string // a condition, with the person as $1; empty if no row is about a person
	Why     string // the content of the table, if no row is about a person
}

// OwnChats selects the ids of a person's own chats, with the person as $1: direct chats and those of the API that the
// person has used and no other person has written in. Schedules and hooks don't count as persons. See
// [parley/core/storage.PersonalData].
const OwnChats = `SELECT r.id FROM rooms r WHERE r.kind IN ('direct', 'api') AND r.id IN (
		SELECT room FROM memories WHERE author = $1 UNION SELECT room FROM runs WHERE author = $1
		UNION SELECT room FROM reminders WHERE person = $1 UNION SELECT room FROM uploads WHERE sender = $1)
	AND NOT EXISTS (SELECT 1 FROM memories o WHERE o.room = r.id AND o.role IN ('input', 'heard') AND o.kind = '' AND o.author <> $1
		AND o.author NOT LIKE '` + chat.SchedulePrefix + `%' AND o.author NOT LIKE '` + chat.HookPrefix + `%')`

// answered is true for a memory m that belongs to the answer to a message of the person.
const answered = `m.role IN ('said', 'beside') AND (m.room, m.turn) IN (SELECT i.room, i.turn FROM memories i WHERE i.author = $1 AND i.role = 'input')`

// PersonalTables returns for each table of [Tables] which rows are about a person, in the order of an export.
func PersonalTables() []PersonalTable {
	all := []PersonalTable{
		personal("account", "entities", "id connector names bot details met", `id = $1`),
		personal("access", "people", "id name owner since", `id = $1`),
		personal("pairing", "knocks", "id connector name since ends told", `id = $1`),
		personal("memberships", "members", "world entity role gone", `entity = $1`),
		personal("chats", "rooms", "id world kind connector name created attention", `id IN (`+OwnChats+`)`),
		personal("messages", "memories", "seq id room turn role kind author name text in_reply_to at history interrupted failure content",
			`author = $1 OR room IN (`+OwnChats+`) OR seq IN (SELECT m.seq FROM memories m WHERE `+answered+`)`),
		personal("files", "files", "run n name type data", `run IN (SELECT m.room || '#' || m.turn FROM memories m
			WHERE m.role = 'said' AND m.room IN (`+OwnChats+`) OR `+answered+`)`),
		personal("uploads", "uploads", "id room sender message name type size at complete thumbnail evicted", theirUploads),
		personal("upload_pieces", "upload_pieces", "upload n data", `upload IN (SELECT id FROM uploads WHERE `+theirUploads+`)`),
		personal("facts", "room_notes", "seq room kind key about text first last at expires", `about = $1 OR room IN (`+OwnChats+`)`),
		personal("reminders", "reminders", "seq id room person due content", `person = $1 OR room IN (`+OwnChats+`)`),
		personal("choices", "questions", "id run room expires carrier question", `room IN (`+OwnChats+`) OR run IN (SELECT id FROM runs WHERE author = $1)`),
		personal("approvals", "approvals", "id room run call tool kind arguments effect asker at expires decision decider decided",
			`asker = $1 OR decider = $1`),
		personal("runs", "runs", "id room turn kind author opened duty status failure text", `author = $1`),
		personal("usage", "spending", "day bucket messages tokens usd input cached output unpriced", `bucket = 'person/' || CAST($1 AS text)
			OR bucket IN (SELECT 'room/' || o.id FROM (`+OwnChats+`) o) OR bucket IN (SELECT 'run/' || id FROM runs WHERE author = $1)`),
	}
	for table, why := range map[string]string{
		"owners":  "the processes that use the store",
		"worlds":  "servers and groups",
		"marks":   "which events were received, as hashes, for two days",
		"notes":   "the state of connectors and plugins",
		"holds":   "until when platforms refuse requests",
		"windows": "what was used of the platforms' rate limits",
	} {
		all = append(all, PersonalTable{Table: Table{Name: table}, Why: why})
	}
	return all
}

// RoomTables returns for each table with rows about a room which ones an export of the room has, with the room as $1.
func RoomTables() []PersonalTable {
	return []PersonalTable{
		personal("chat", "rooms", "id world kind connector name created attention", `id = $1`),
		personal("messages", "memories", "seq id turn role kind author name text in_reply_to at history interrupted failure content", `room = $1`),
		personal("files", "files", "run n name type data", `run IN (SELECT m.room || '#' || m.turn FROM memories m WHERE m.role = 'said' AND m.room = $1)`),
		personal("uploads", "uploads", "id sender message name type size at complete thumbnail evicted", `room = $1`),
		personal("upload_pieces", "upload_pieces", "upload n data", `upload IN (SELECT id FROM uploads WHERE room = $1)`),
		personal("notes", "room_notes", "seq kind key about text first last at expires", `room = $1`),
		personal("reminders", "reminders", "seq id person due content", `room = $1`),
		personal("choices", "questions", "id run expires carrier question", `room = $1`),
		personal("approvals", "approvals", "id run call tool kind arguments effect asker at expires decision decider decided", `room = $1`),
		personal("runs", "runs", "id turn kind author opened duty status failure text", `room = $1`),
	}
}

// ListRooms selects the rooms with messages of users, that with the newest one first: the columns are those of [ScanListedRoom], %s is a
// condition with the parameters $1 to $4, and $5 is the maximum number.
const ListRooms = `SELECT r.id, r.connector, r.name, m.at, m.name, m.author FROM rooms r JOIN memories m ON m.seq = (
		SELECT seq FROM memories WHERE room = r.id AND role IN ('input', 'heard') ORDER BY turn DESC, seq DESC LIMIT 1)
	WHERE %s ORDER BY m.at DESC, m.seq DESC LIMIT $5`

// ScanListedRoom reads a row of [ListRooms].
func ScanListedRoom(r Row) (l chat.ListedRoom, err error) {
	var at int64
	err = r.Scan(&l.ID, &l.Connector, &l.Name, &at, &l.AuthorName, &l.Author)
	l.At = Time(at)
	return l, err
}

const theirUploads = `sender = $1 OR room IN (` + OwnChats + `)`

// personal returns the entry of a table with rows about persons. columns are those that an export shows: internal ones,
// such as pairing codes and attempts, are left out.
func personal(section, table, columns, where string) PersonalTable {
	i := slices.IndexFunc(Tables(), func(t Table) bool { return t.Name == table })
	is := Tables()[i]
	key := is.Key
	if slices.Contains([]string{"runs", "questions"}, table) {
		key = []string{"id"} // SQLite's have no column seq
	}
	return PersonalTable{Section: section, Table: Table{Name: table, Key: key, Columns: strings.Fields(columns), Page: is.Page}, Where: where}
}

// Query returns the statement that reads a page of rows: first the columns of the key, where the next page
// continues, then those of the export. Its parameters are the person and, unless it is the first page, the last key.
func (t PersonalTable) Query(first bool) string {
	after := ""
	if !first {
		var places []string
		for i := range t.Key {
			places = append(places, fmt.Sprintf("$%d", i+2))
		}
		after = fmt.Sprintf(" AND (%s) > (%s)", strings.Join(t.Key, ", "), strings.Join(places, ", "))
	}
	return fmt.Sprintf("SELECT %s, %s FROM %s WHERE (%s)%s ORDER BY %s LIMIT %d", strings.Join(t.Key, ", "), strings.Join(t.Columns, ", "), t.Name,
		t.Where, after, strings.Join(t.Key, ", "), t.Page)
}

// The columns that an export shows in another form than they are stored in, each between spaces.
const (
	timeColumns = " at since expires decided created opened met due told ends "
	boolColumns = " owner bot gone interrupted complete thumbnail evicted "
	jsonColumns = " names details history content question "
)

// Object returns a row of an export as a JSON object: times in words, booleans alike for both stores, and stored JSON
// as JSON. It fails for a value that JSON can't express.
func (t PersonalTable) Object(row []any) (json.RawMessage, error) {
	var out bytes.Buffer
	for i, value := range row {
		column := " " + t.Columns[i] + " "
		n, number := value.(int64)
		switch text, _ := value.(string); {
		case number && strings.Contains(timeColumns, column):
			value = nil
			if n != 0 {
				value = Time(n)
			}
		case number && strings.Contains(boolColumns, column):
			value = n != 0
		case strings.Contains(jsonColumns, column) && text == "":
			value = nil
		case strings.Contains(jsonColumns, column) && json.Valid([]byte(text)):
			value = json.RawMessage(text)
		}
		encoded, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("write the column %s of %s: %w", t.Columns[i], t.Name, err)
		}
		if i > 0 {
			out.WriteByte(',')
		}
		fmt.Fprintf(&out, "%q:%s", t.Columns[i], encoded)
	}
	return slices.Concat([]byte("{"), out.Bytes(), []byte("}")), nil
}

// PersonalCursor is where a page of an export begins: in the table of a section, after a key. Callers get it as an
// opaque text.
type PersonalCursor struct {
	Section string `json:"section"`
	After   []any  `json:"after,omitempty"`
}

// Encode returns c as a text.
func (c PersonalCursor) Encode() string { return JSON(c) }

// ParsePersonalCursor returns the remaining tables of all, and the last key that was read of the first of
// them. It fails for a text that is no cursor.
func ParsePersonalCursor(all []PersonalTable, text string) (rest []PersonalTable, after []any, err error) {
	all = slices.DeleteFunc(all, func(t PersonalTable) bool { return t.Where == "" })
	if text == "" {
		return all, nil, nil
	}
	var c PersonalCursor
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // a float64 would round large keys
	if err := d.Decode(&c); err != nil {
		return nil, nil, fmt.Errorf("read the place in the export: %w", err)
	}
	i := slices.IndexFunc(all, func(t PersonalTable) bool { return t.Section == c.Section })
	if i < 0 || len(c.After) != 0 && len(c.After) != len(all[i].Key) {
		return nil, nil, fmt.Errorf("there is no place %q in the export", c.Section)
	}
	for n, v := range c.After {
		if number, ok := v.(json.Number); ok {
			if c.After[n], err = number.Int64(); err != nil {
				return nil, nil, fmt.Errorf("read the place in the export: %w", err)
			}
		}
	}
	return all[i:], c.After, nil
}

// PersonalPageOf reads the next page of an export of all. rows returns the rows of a table that follow a key. A page has
// records of one table, so that a reader can write one section after the other. It fails for an invalid cursor, and
// with the error of rows.
func PersonalPageOf(all []PersonalTable, after string, rows func(t PersonalTable, key []any) ([][]any, error)) (page chat.PersonalPage, err error) {
	tables, key, err := ParsePersonalCursor(all, after)
	for i := 0; err == nil && i < len(tables); i, key = i+1, nil {
		t := tables[i]
		found, err := rows(t, key)
		if err != nil {
			return chat.PersonalPage{}, err
		}
		if len(found) == 0 {
			continue
		}
		page.Section = t.Section
		for _, row := range found {
			object, err := t.Object(row[len(t.Key):])
			if err != nil {
				return chat.PersonalPage{}, err
			}
			page.Records = append(page.Records, object)
		}
		if len(found) == t.Page {
			page.Next = PersonalCursor{t.Section, found[len(found)-1][:len(t.Key)]}.Encode()
		} else if i+1 < len(tables) {
			page.Next = PersonalCursor{Section: tables[i+1].Section}.Encode()
		}
		return page, nil
	}
	return page, err
}

// PersonalStatement deletes rows about a person, or removes the person from rows that stay. $1 is the person; $2, if
// Key is set, is the text that names the person under Key in a stored JSON object.
type PersonalStatement struct{ Section, SQL, Key string }

// PersonalStatements returns the statements that delete the rest about a person whose messages are deleted, in this
// order: earlier ones find rows by others that later ones delete. Rows of runs that have not ended stay,
// because their processes still write them. Standing approvals that the person gave lapse.
func PersonalStatements() []PersonalStatement {
	const (
		ended  = `NOT EXISTS (SELECT 1 FROM runs o WHERE o.id IN (questions.run, questions.carrier) AND o.status = '')`
		unname = `UPDATE runs SET address = replace(address, $2, '') WHERE status <> '' AND replace(address, $2, '') <> address AND CAST($1 AS text) <> ''`
	)
	return []PersonalStatement{
		{"usage", `DELETE FROM spending WHERE bucket = 'person/' || CAST($1 AS text)
			OR bucket IN (SELECT 'run/' || id FROM runs WHERE author = $1 AND status <> '')`, ""},
		{"choices", `DELETE FROM questions WHERE ` + ended + ` AND (replace(question, $2, '') <> question
			OR run IN (SELECT id FROM runs WHERE author = $1))`, "by"},
		{"runs", `DELETE FROM runs WHERE author = $1 AND status <> ''
			AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn)`, ""},
		{"", `UPDATE runs SET author = '' WHERE author = $1 AND status <> ''`, ""},
		{"", unname, "payer"},
		{"", unname, "known"},
		{"", `UPDATE rooms SET address = replace(address, $2, '') WHERE replace(address, $2, '') <> address AND CAST($1 AS text) <> ''`, "payer"},
		{"reminders", `DELETE FROM reminders WHERE person = $1`, ""},
		{"uploads", `DELETE FROM uploads WHERE sender = $1`, ""},
		{"facts", `DELETE FROM room_notes WHERE about = $1`, ""},
		{"approvals", `DELETE FROM approvals WHERE asker = $1`, ""},
		{"", `UPDATE approvals SET decider = '', decision = CASE WHEN decision = 'always' THEN 'lapsed' ELSE decision END WHERE decider = $1`, ""},
		{"access", `DELETE FROM people WHERE id = $1`, ""},
		{"pairing", `DELETE FROM knocks WHERE id = $1`, ""},
		{"memberships", `DELETE FROM members WHERE entity = $1`, ""},
		{"account", `DELETE FROM entities WHERE id = $1`, ""},
	}
}

// Args returns the parameters of the statement. The text for $2 is removed from stored JSON by replacing it, so it
// includes the comma that precedes the field, where there always is one.
func (s PersonalStatement) Args(person chat.EntityID) []any {
	switch s.Key {
	case "":
		return []any{string(person)}
	case "by":
		return []any{string(person), JSON(s.Key) + ":" + JSON(person)}
	}
	return []any{string(person), "," + JSON(s.Key) + ":" + JSON(person)} // these are never the first field of an address
}

// PersonalRoom returns the statements that delete the rest of a person's own chat, $1, which is then cleared. What
// belongs to runs that have not ended stays.
func PersonalRoom() []PersonalStatement {
	return []PersonalStatement{
		{"facts", `DELETE FROM room_notes WHERE room = $1`, ""},
		{"reminders", `DELETE FROM reminders WHERE room = $1`, ""},
		{"uploads", `DELETE FROM uploads WHERE room = $1`, ""},
		{"approvals", `DELETE FROM approvals WHERE room = $1`, ""},
		{"usage", `DELETE FROM spending WHERE bucket = 'room/' || CAST($1 AS text)
			OR bucket IN (SELECT 'run/' || id FROM runs WHERE room = $1 AND status <> '')`, ""},
		{"choices", `DELETE FROM questions WHERE room = $1
			AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.id IN (questions.run, questions.carrier) AND o.status = '')`, ""},
		{"runs", `DELETE FROM runs WHERE room = $1 AND status <> ''`, ""},
		{"", `UPDATE rooms SET name = '', chats = '', address = '' WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE room = $1)`, ""},
	}
}

// Bounds of one step of the deletion of a person. PersonalMessages is also the limit in SelectPersonalMessages.
const (
	PersonalChats    = 50
	PersonalMessages = 50
)

// PersonalMessage is a message of a person.
type PersonalMessage struct {
	Room chat.RoomID
	ID   chat.MemoryID
}

// ScanPersonalMessage reads a message's room and id, and fails as r does.
func ScanPersonalMessage(r Row) (m PersonalMessage, err error) { return m, r.Scan(&m.Room, &m.ID) }

// PersonalBatch splits all messages into those in the room of the first, and the others: a transaction locks one room.
func PersonalBatch(all []PersonalMessage) (ids []chat.MemoryID, rest []PersonalMessage) {
	for i, m := range all {
		if m.Room != all[0].Room {
			return ids, all[i:]
		}
		ids = append(ids, m.ID)
	}
	return ids, nil
}

// The statements of both stores that take messages of a person from a room. $1 is the person or the room.
const (
	SelectPersonalMessages = `SELECT room, id FROM memories WHERE author = $1 ORDER BY room, id LIMIT 50`
	SelectQuoting          = `SELECT ` + MemoryColumns + ` FROM memories WHERE room = $1 AND content LIKE '%"quoted":%'`
	CountOpenPersonal      = `SELECT count(*) FROM runs WHERE status = '' AND (author = $1 OR room IN (` + OwnChats + `))`
	SelectParkedPersonal   = `SELECT id FROM runs WHERE status = '' AND parked AND author = $1
		AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role = 'input')`
	CountFilesOfRoom = `SELECT count(*) FROM files WHERE run IN (SELECT room || '#' || turn FROM memories WHERE room = $1 AND role = 'said')`
)

// Unquoted returns m without the message that it quotes and its files, and whether that message is one of ids.
func Unquoted(m chat.Memory, ids []chat.MemoryID) (chat.Memory, bool) {
	if !slices.Contains(ids, m.InReplyTo) {
		return m, false
	}
	m.Quoted = chat.Quoted{}
	m.Files = slices.DeleteFunc(slices.Clone(m.Files), func(f chat.Attachment) bool { return f.Origin == chat.RepliedFile })
	return m, true
}
