package record

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"strings"
)

// Table is a table that all SQL stores have, with the same columns.
type Table struct {
	Name    string
	Key     []string // sorts the rows
	Columns []string // all of them
	Page    int      // how many rows fit well into memory
}

// Tables returns all tables, those that others refer to first. The column seq is SQLite's rowid.
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
			"acting acted verdict deaths attempts retried counted parked ending continuation"),
		table("owners", 1, "id alive_until leaving"),
		files,
		table("room_notes", 1, "seq room kind key about text first last first_turn last_turn at"),
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

// KeyOf returns the key of a row of t.
func (t Table) KeyOf(row []any) []any { return row[:len(t.Key)] }

// Sum is the sum of rows, whatever store they come from.
type Sum struct {
	Rows int
	hash hash.Hash
}

// NewSum returns the sum of no rows.
func NewSum() *Sum { return &Sum{hash: sha256.New()} }

// Add adds rows.
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
