-- The kind of a memory, and its fields that no query needs: a JSON object, '' is none. Other things that a run did have
-- the role 'beside'.

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
