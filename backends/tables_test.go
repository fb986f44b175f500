package backends

import (
	"database/sql"
	"maps"
	"slices"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"parley/backends/postgres/postgrestest"
	"parley/backends/record"
	"parley/internal/require"
)

// What is moved is all that both stores have: a table or a column that a migration adds is not forgotten.
func TestTablesAreComplete(t *testing.T) {
	want := map[string]bool{}
	for _, table := range record.Tables() {
		for _, column := range table.Columns {
			want[table.Name+"."+column] = true
		}
	}
	own := map[string]bool{"identity": true, "commits": true, "leases": true}
	for driver, columns := range storedColumns(t) {
		has := map[string]bool{}
		for _, name := range columns {
			table, _, _ := strings.Cut(name, ".")
			if !own[table] && !strings.HasPrefix(table, "memory_words") && table != "memory_vectors" && table != "piece_vectors" { // which is derived
				has[name] = true
			}
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

// storedColumns returns the columns of all tables of new stores, such as memories.text, by driver. The table of the migrations is left out,
// and so are the inner tables of SQLite's index of words.
func storedColumns(t *testing.T) map[string][]string {
	t.Helper()
	file, database := filled(t), postgrestest.Shared(t).Create(t, "")
	require.NoError(t, Migrate(t.Context(), database))
	all := map[string][]string{}
	for driver, source := range map[string]struct{ address, query string }{
		"sqlite": {Path(file), `SELECT m.name, p.name FROM sqlite_schema m, pragma_table_info(m.name) p WHERE m.type = 'table' AND m.name NOT LIKE 'memory_words_%' OR m.name = 'memory_words_until'`},
		"pgx":    {database, `SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = current_schema()`},
	} {
		db := require.Value(sql.Open(driver, source.address))(t)
		defer db.Close()
		rows := require.Value(db.QueryContext(t.Context(), source.query))(t)
		for rows.Next() {
			var table, column string
			require.NoError(t, rows.Scan(&table, &column))
			if table != "goose_db_version" && table != "sqlite_sequence" {
				all[driver] = append(all[driver], table+"."+column)
			}
		}
		require.NoError(t, rows.Err())
	}
	return all
}
