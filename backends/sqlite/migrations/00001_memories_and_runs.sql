-- The first tables: what was said (memories), the rooms it was said in, and the runs that answer it with the processes
-- that hold them.
--
-- Times are unix nanoseconds, 0 is no time; lists and structs are JSON that only the program reads, '' is none.

-- +goose Up
-- turns counts the turns of the room. It is stored with the room and never decreases, so a number is never given twice.
CREATE TABLE rooms (
    id        TEXT    NOT NULL PRIMARY KEY,
    world     TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    turns     INTEGER NOT NULL DEFAULT 0, -- the last turn number that was given
    attention TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE memories (
    seq         INTEGER PRIMARY KEY, -- the order in which they were stored
    id          TEXT    NOT NULL UNIQUE,
    room        TEXT    NOT NULL REFERENCES rooms (id),
    turn        INTEGER NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('input', 'heard', 'said')), -- input of its turn's run, only context, or its answer
    author      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    in_reply_to TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    history     TEXT    NOT NULL,
    interrupted INTEGER NOT NULL,
    failure     TEXT    NOT NULL
) STRICT;

-- The prompt reads the newest turns of a room.
CREATE INDEX memories_by_turn ON memories (room, turn, seq);

-- epoch counts the starts of a run; a write with an earlier epoch fails. shown are the platform's messages that show
-- the answer, acting and acted the writing actions that began and that ended, verdict is how the run is to end, stored
-- before it is shown.
CREATE TABLE runs (
    id        TEXT    NOT NULL PRIMARY KEY,
    room      TEXT    NOT NULL REFERENCES rooms (id),
    turn      INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    opened    INTEGER NOT NULL,
    ready     INTEGER NOT NULL,
    duty      TEXT    NOT NULL,
    epoch     INTEGER NOT NULL DEFAULT 0,  -- 0 was never started
    owner     TEXT    NOT NULL DEFAULT '',
    status    TEXT    NOT NULL DEFAULT '', -- '' is open
    failure   TEXT    NOT NULL DEFAULT '',
    withdrawn INTEGER NOT NULL DEFAULT 0,
    partial   INTEGER NOT NULL DEFAULT 0,
    shown     TEXT    NOT NULL DEFAULT '',
    text      TEXT    NOT NULL DEFAULT '',
    acting    TEXT    NOT NULL DEFAULT '',
    acted     TEXT    NOT NULL DEFAULT '',
    verdict   TEXT    NOT NULL DEFAULT ''
) STRICT;

-- Open runs are few, and looked for with each message and after each start; ended ones are many.
CREATE INDEX runs_open ON runs (room, turn) WHERE status = '';

-- Processes and until when each is alive. A run whose owner is dead can be started by another.
CREATE TABLE owners (
    id          TEXT    NOT NULL PRIMARY KEY,
    alive_until INTEGER NOT NULL
) STRICT;

-- One row: what shares state between processes, such as Redis, has it in its keys, because turn numbers mean nothing in
-- another file.
CREATE TABLE identity (
    id TEXT NOT NULL
) STRICT;

INSERT INTO identity (id) VALUES (lower(hex(randomblob(8))));

-- +goose Down
DROP TABLE identity;
DROP TABLE owners;
DROP TABLE runs;
DROP TABLE memories;
DROP TABLE rooms;
