package bench

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"parley/backends/sqlite"
	"parley/connectors/web"
	"parley/core/chat"
	"parley/internal/require"
)

// roomOf is the room of a conversation on the web.
func roomOf(conversation string) chat.RoomID { return chat.RoomID(web.Name + "/" + conversation) }

// filled makes a database in which each of the conversations has so many messages, half of them answers. The rows do
// not go through the store: that would take a minute for each 100,000.
func filled(b *testing.B, conversations map[string]int) (path string) {
	b.Helper()
	path = filepath.Join(b.TempDir(), "parley.db")
	s, err := sqlite.Open(b.Context(), path, sqlite.Options{})
	require.NoError(b, err)
	for name := range conversations {
		err := s.SaveRoom(b.Context(), chat.Room{ID: roomOf(name), Kind: chat.API, Connector: web.Name, Created: time.Now()})
		require.NoError(b, err)
	}
	require.NoError(b, s.Close())
	db, err := sql.Open("sqlite", path)
	require.NoError(b, err)
	for name, messages := range conversations {
		for _, rows := range []string{fillMemories, fillRuns, fillRooms} {
			if _, err := db.ExecContext(b.Context(), rows, sql.Named("room", string(roomOf(name))), sql.Named("n", messages)); err != nil {
				b.Fatal(err)
			}
		}
	}
	require.NoError(b, db.Close())
	return path
}

const numbers = `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $n) `

const fillMemories = `
INSERT INTO memories (id, room, turn, role, kind, content, author, name, text, in_reply_to, at, history, interrupted, failure) ` + numbers + `
SELECT $room || '/filled-' || i, $room, (i + 1) / 2, iif(i % 2, 'input', 'said'), '', '', iif(i % 2, $room, 'agent'), '',
       'What do you think, is it a question or an answer of about the usual length, number ' || i || '?',
       iif(i % 2, '', $room || '/filled-' || (i - 1)), unixepoch() * 1000000000, '', 0, ''
FROM n`

const fillRuns = `
INSERT INTO runs (id, room, turn, kind, duty, address, opened, ready, epoch, status) ` + numbers + `
SELECT $room || '#' || i, $room, i, 'api', '', '', 0, 0, 1, 'completed' FROM n WHERE i <= $n / 2`

const fillRooms = `UPDATE rooms SET turns = $n / 2 WHERE id = $room`
