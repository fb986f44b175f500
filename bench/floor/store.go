package main

import (
	"database/sql"
	"errors"
	"slices"

	_ "modernc.org/sqlite" // the driver
)

// share is how many writes share a transaction at most.
const share = 256

// store keeps the conversations.
type store struct {
	writer, readers *sql.DB
	jobs            chan job
	ended           chan struct{}
}

// job is one write.
type job struct {
	do   func(*sql.Tx) error
	done chan error
}

// turn is a message in a prompt.
type turn struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

const schema = `CREATE TABLE IF NOT EXISTS messages (
	chat INTEGER, id INTEGER, role TEXT NOT NULL, text TEXT NOT NULL, answer INTEGER, PRIMARY KEY (chat, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS unanswered ON messages (chat, id) WHERE role = 'user' AND answer IS NULL;`

func openStore(path string) (*store, error) {
	dsn := "file:" + path + "?_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	s := &store{jobs: make(chan job, share), ended: make(chan struct{})}
	var err error
	if s.writer, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	s.writer.SetMaxOpenConns(1)
	if _, err := s.writer.Exec(schema); err != nil {
		return nil, err
	}
	if s.readers, err = sql.Open("sqlite", dsn); err != nil {
		return nil, err
	}
	s.readers.SetMaxOpenConns(4)
	s.readers.SetMaxIdleConns(4)
	go s.work()
	return s, nil
}

// work does the writes: all that wait, in one transaction.
func (s *store) work() {
	defer close(s.ended)
	for first := range s.jobs {
		waiting := []job{first}
		for range min(len(s.jobs), share-1) {
			waiting = append(waiting, <-s.jobs)
		}
		err := s.commit(waiting)
		for _, j := range waiting {
			j.done <- err
		}
	}
}

func (s *store) commit(all []job) error {
	tx, err := s.writer.Begin()
	if err != nil {
		return err
	}
	for _, j := range all {
		if err := j.do(tx); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	return tx.Commit()
}

// write returns when do is on the disk.
func (s *store) write(do func(*sql.Tx) error) error {
	j := job{do, make(chan error, 1)}
	s.jobs <- j
	return <-j.done
}

// save stores questions, and returns those that were not stored before.
func (s *store) save(batch []message) (fresh []message, err error) {
	if len(batch) == 0 {
		return nil, nil
	}
	err = s.write(func(tx *sql.Tx) error {
		for _, m := range batch {
			r, err := tx.Exec(`INSERT INTO messages (chat, id, role, text) VALUES (?, ?, 'user', ?) ON CONFLICT DO NOTHING`, m.chat, m.id, m.text)
			if err != nil {
				return err
			}
			if n, _ := r.RowsAffected(); n > 0 {
				fresh = append(fresh, m)
			}
		}
		return nil
	})
	return fresh, err
}

// finish stores the answer to m.
func (s *store) finish(m message, id int64, text string) error {
	return s.write(func(tx *sql.Tx) error {
		_, err := tx.Exec(`INSERT INTO messages (chat, id, role, text) VALUES (?, ?, 'assistant', ?)`, m.chat, id, text)
		if err == nil {
			_, err = tx.Exec(`UPDATE messages SET answer = ? WHERE chat = ? AND id = ?`, id, m.chat, m.id)
		}
		return err
	})
}

// history returns the end of the conversation, up to m.
func (s *store) history(m message) (all []turn, err error) {
	rows, err := s.readers.Query(`SELECT role, text FROM messages WHERE chat = ? AND id <= ? ORDER BY id DESC LIMIT ?`, m.chat, m.id, recent)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	for rows.Next() {
		var t turn
		if err := rows.Scan(&t.Role, &t.Content); err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	slices.Reverse(all)
	return all, rows.Err()
}

// unanswered returns the questions that an earlier process left.
func (s *store) unanswered() (all []message, err error) {
	rows, err := s.readers.Query(`SELECT chat, id, text FROM messages WHERE role = 'user' AND answer IS NULL ORDER BY chat, id`)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // Err reports it
	for rows.Next() {
		var m message
		if err := rows.Scan(&m.chat, &m.id, &m.text); err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

func (s *store) close() error {
	close(s.jobs)
	<-s.ended
	return errors.Join(s.readers.Close(), s.writer.Close())
}
