-- Adds to memories the kind of a memory, and content: the fields that no query needs, as a JSON object, '' for none.
-- The new role 'beside' is for what a run produced in addition to its answer. A CHECK constraint can't be altered in
-- SQLite, so the table is copied. The index begins with the kind too, because prompts read one kind.

-- +goose Up
CREATE TABLE memories_3 (
    seq         INTEGER PRIMARY KEY, -- the order in which they were stored
    id          TEXT    NOT NULL UNIQUE,
    room        TEXT    NOT NULL REFERENCES rooms (id),
    turn        INTEGER NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('input', 'heard', 'said', 'beside')),
    kind        TEXT    NOT NULL,
    author      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    in_reply_to TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    history     TEXT    NOT NULL,
    interrupted INTEGER NOT NULL,
    failure     TEXT    NOT NULL,
    content     TEXT    NOT NULL
) STRICT;
INSERT INTO memories_3 SELECT seq, id, room, turn, role, '', author, name, text, in_reply_to, at, history, interrupted, failure, '' FROM memories;
DROP TABLE memories;
ALTER TABLE memories_3 RENAME TO memories;
CREATE INDEX memories_by_turn ON memories (room, kind, turn, seq);

-- +goose Down
CREATE TABLE memories_1 (
    seq         INTEGER PRIMARY KEY,
    id          TEXT    NOT NULL UNIQUE,
    room        TEXT    NOT NULL REFERENCES rooms (id),
    turn        INTEGER NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('input', 'heard', 'said')),
    author      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    in_reply_to TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    history     TEXT    NOT NULL,
    interrupted INTEGER NOT NULL,
    failure     TEXT    NOT NULL
) STRICT;
INSERT INTO memories_1 SELECT seq, id, room, turn, role, author, name, text, in_reply_to, at, history, interrupted, failure FROM memories WHERE kind = '';
DROP TABLE memories;
ALTER TABLE memories_1 RENAME TO memories;
CREATE INDEX memories_by_turn ON memories (room, turn, seq);
