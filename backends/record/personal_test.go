package record

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/core/chat"
)

// Of each table it is decided which rows are about a person, or why none is.
func TestPersonalTablesAreComplete(t *testing.T) {
	decided, sections := map[string]bool{}, map[string]bool{}
	for _, p := range PersonalTables() {
		if decided[p.Name] || (p.Where == "") == (p.Why == "") || p.Where != "" && (p.Section == "" || sections[p.Section]) {
			t.Errorf("%s: %+v", p.Name, p)
		}
		decided[p.Name], sections[p.Section] = true, true
		if p.Where == "" {
			continue
		}
		of := Tables()[slices.IndexFunc(Tables(), func(t Table) bool { return t.Name == p.Name })]
		for _, column := range p.Columns {
			if !slices.Contains(of.Columns, column) {
				t.Errorf("%s has no column %s", p.Name, column)
			}
		}
	}
	for _, table := range Tables() {
		if !decided[table.Name] {
			t.Errorf("it is not decided which rows of %s are about a person", table.Name)
		}
	}
	for _, statements := range [][]PersonalStatement{PersonalStatements(), PersonalRoom()} {
		for _, s := range statements {
			if s.Section != "" && !sections[s.Section] {
				t.Errorf("%q deletes from %q, which no export has", s.SQL, s.Section)
			}
			if args := s.Args("x"); strings.Contains(s.SQL, "$2") != (len(args) == 2) || !strings.Contains(s.SQL, "$1") {
				t.Errorf("%q has the parameters %v", s.SQL, args)
			}
		}
	}
}

// A row is shown as people read it: times, no numbers of the store, JSON as what it is.
func TestPersonalObject(t *testing.T) {
	table := PersonalTable{Table: Table{Name: "x", Columns: strings.Fields("id at due gone bot names content data n")}}
	row := []any{"a\"b", int64(1e9), int64(0), int64(1), false, `["A"]`, "", []byte{1, 2}, int64(1 << 62)}
	got, err := table.Object(row)
	want := `{"id":"a\"b","at":"1970-01-01T00:00:01Z","due":null,"gone":true,"bot":false,"names":["A"],"content":null,"data":"AQI=","n":4611686018427387904}`
	if err != nil || string(got) != want {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
	cursor := PersonalCursor{"messages", []any{int64(1<<62 + 1)}}.Encode()
	if rest, after, err := ParsePersonalCursor(PersonalTables(), cursor); err != nil || fmt.Sprint(after) != "[4611686018427387905]" || rest[0].Section != "messages" {
		t.Errorf("%s is %v, %v", cursor, after, err)
	}
}

func TestPersonalBatch(t *testing.T) {
	all := []PersonalMessage{{"a", "1"}, {"a", "2"}, {"b", "3"}}
	ids, rest := PersonalBatch(all)
	if !slices.Equal(ids, []chat.MemoryID{"1", "2"}) || len(rest) != 1 {
		t.Error(ids, rest)
	}
	if ids, rest = PersonalBatch(rest); !slices.Equal(ids, []chat.MemoryID{"3"}) || rest != nil {
		t.Error(ids, rest)
	}
}
