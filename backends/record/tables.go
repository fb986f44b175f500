package record

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"
)

// Table describes a table that both stores have with the same columns, for moving its rows.
type Table struct {
	Name    string
	Key     []string // the columns that sort rows and mark a page's end; unique
	Columns []string // all of them, those of the key first
	Page    int      // the number of rows read at a time; fewer of those with large values
}

// Tables returns the tables to move, referenced ones before those that refer to them. The column seq is SQLite's rowid.
// Derived tables, such as indexes of words and vectors, are missing: the new store makes them again. So are leases,
// which SQLite has none of. A column that a migration adds must be added here too; a test compares the list with the
// schemas.
func Tables() []Table {
	table := func(name string, key int, columns string) Table {
		all := strings.Fields(columns)
		return Table{Name: name, Key: all[:key], Columns: all, Page: 500}
	}
	files := table("files", 2, "run n name type data")
	files.Page = 4
	pieces := table("upload_pieces", 2, "upload n data")
	pieces.Page = 16
	return []Table{
		table("rooms", 1, "id world kind connector name created turns attention chats address gone"),
		table("memories", 1, "seq id room turn role kind author name text in_reply_to at history interrupted failure content"),
		table("runs", 1, "seq id room turn kind address author opened ready duty epoch owner status failure withdrawn partial shown text "+
			"acting acted verdict deaths attempts retried counted parked ending continuation blamed risk lasting outcome"),
		table("owners", 1, "id alive_until leaving died_with"),
		files,
		table("room_notes", 1, "seq room kind key about text first last first_turn last_turn at expires"),
		table("questions", 1, "seq id run room expires carrier question"),
		table("approvals", 1, "id room run call tool kind arguments effect asker at expires decision decider decided"),
		table("people", 1, "seq id name address owner since"),
		table("knocks", 1, "seq id connector name address since code ends told"),
		table("entities", 1, "id connector names bot details met"),
		table("worlds", 1, "id connector name gone"),
		table("members", 2, "world entity role gone"),
		table("spending", 2, "day bucket messages tokens warned usd input cached output unpriced"),
		table("marks", 1, "id turn answered at"),
		table("notes", 1, "name value"),
		table("holds", 1, "scope until"),
		table("windows", 1, "scope until saved"),
		table("reminders", 1, "seq id room person due content"),
		table("uploads", 1, "id room sender message name type size at attempt complete thumbnail evicted"),
		pieces,
	}
}

// KeyOf returns the key of a row of t, for reading the rows after it.
func (t Table) KeyOf(row []any) []any { return row[:len(t.Key)] }

// Sum is a checksum of rows that is the same for equal rows of both stores. It shows whether a move was complete.
type Sum struct {
	Rows int // the number of added rows
	hash hash.Hash
}

// NewSum returns the sum of no rows.
func NewSum() *Sum { return &Sum{hash: sha256.New()} }

// Add adds rows. Their order matters. It fails for a value of a type that the stores don't use.
func (s *Sum) Add(rows [][]any) error {
	for _, row := range rows {
		s.Rows++
		for _, value := range row {
			if err := s.add(value); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds a value with its length before it, so that values can't flow into each other. SQLite's numbers 0 and 1 and
// PostgreSQL's booleans are the same.
func (s *Sum) add(value any) error {
	var bytes []byte
	switch v := value.(type) {
	case string:
		bytes = []byte(v)
	case []byte:
		bytes = v
	case int64:
		bytes = binary.AppendVarint(nil, v)
	case bool:
		n := int64(0)
		if v {
			n = 1
		}
		bytes = binary.AppendVarint(nil, n)
	default:
		return fmt.Errorf("a column holds %T", value)
	}
	_, _ = s.hash.Write(binary.AppendVarint(nil, int64(len(bytes))))
	_, _ = s.hash.Write(bytes)
	return nil
}

// Equal reports whether both are sums of the same rows.
func (s *Sum) Equal(o *Sum) bool {
	return s.Rows == o.Rows && string(s.hash.Sum(nil)) == string(o.hash.Sum(nil))
}
