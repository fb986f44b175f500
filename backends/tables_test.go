package backends

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"parley/backends/postgres/postgrestest"
	"parley/backends/record"
)

// What is moved is all that both stores have: a table or a column that a migration adds is not forgotten.
func TestTablesAreComplete(t *testing.T) {
	file, database := filled(t), postgrestest.Shared(t).Create(t, "")
	if err := Migrate(t.Context(), database); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{}
	for _, table := range record.Tables() {
		for _, column := range table.Columns {
			want[table.Name+"."+column] = true
		}
	}
	own := map[string]bool{"goose_db_version": true, "identity": true, "commits": true, "leases": true, "sqlite_sequence": true}
	for driver, source := range map[string]struct{ address, query string }{
		"sqlite": {Path(file), `SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table'`},
		"pgx":    {database, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()`},
	} {
		db, err := sql.Open(driver, source.address)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		rows, err := db.QueryContext(t.Context(), source.query)
		if err != nil {
			t.Fatal(err)
		}
		has := map[string]bool{}
		for rows.Next() {
			var table, column string
			if err := rows.Scan(&table, &column); err != nil {
				t.Fatal(err)
			}
			if !own[table] && !strings.HasPrefix(table, "memory_words") && table != "memory_vectors" && table != "piece_vectors" { // which is derived
				has[fmt.Sprint(table, ".", column)] = true
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
		for _, name := range slices.Sorted(maps.Keys(has)) {
			if !want[name] {
				t.Errorf("%s has %s, which is not moved", driver, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			rowid := driver == "sqlite" && (name == "runs.seq" || name == "questions.seq")
			if !has[name] && !rowid {
				t.Errorf("%s has no %s", driver, name)
			}
		}
	}
}
