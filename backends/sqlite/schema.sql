-- version 42
-- Made from the migrations by go test ./backends/sqlite -run TestSchema -update. Don't edit it.

CREATE TABLE approvals (
    id        TEXT    NOT NULL PRIMARY KEY,
    room      TEXT    NOT NULL,
    run       TEXT    NOT NULL,
    call      TEXT    NOT NULL,
    tool      TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    arguments TEXT    NOT NULL,
    effect    TEXT    NOT NULL,
    asker     TEXT    NOT NULL,
    at        INTEGER NOT NULL,
    expires   INTEGER NOT NULL,
    decision  TEXT    NOT NULL,
    decider   TEXT    NOT NULL,
    decided   INTEGER NOT NULL
) STRICT;

CREATE TABLE entities (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    names     TEXT    NOT NULL,
    bot       INTEGER NOT NULL
, details TEXT NOT NULL DEFAULT '', met INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE "files" (
    run  TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    type TEXT    NOT NULL,
    data BLOB    NOT NULL, name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, n)
) STRICT;

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE holds (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT;

CREATE TABLE identity (
    id TEXT NOT NULL
) STRICT;

CREATE TABLE knocks (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    code      TEXT    NOT NULL,
    ends      INTEGER NOT NULL, -- 0 is never
    told      INTEGER NOT NULL
) STRICT;

CREATE TABLE marks (
    id       BLOB    NOT NULL PRIMARY KEY, -- the first 16 bytes of the SHA-256 of the event's id
    turn     INTEGER NOT NULL,             -- it belonged to; of a command that stops turns, the last one
    answered INTEGER NOT NULL,             -- by the run of that turn
    at       INTEGER NOT NULL              -- when it was set
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
    world  TEXT    NOT NULL,
    entity TEXT    NOT NULL,
    role   TEXT    NOT NULL,
    gone   INTEGER NOT NULL,
    PRIMARY KEY (world, entity)
) STRICT, WITHOUT ROWID;

CREATE TABLE "memories" (
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

CREATE TABLE memory_vectors (
    room    INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    seq     INTEGER NOT NULL UNIQUE,
    model   INTEGER NOT NULL,
    version INTEGER NOT NULL, -- changes with the text, so that a vector of an earlier text is recognized
    vector  BLOB    NOT NULL, -- empty is none
    PRIMARY KEY (room, turn, seq)
) STRICT, WITHOUT ROWID;

CREATE VIRTUAL TABLE memory_words USING fts5 (room, words, tokenize = 'ascii', detail = 'column', columnsize = 0);

CREATE TABLE memory_words_until (
    seq INTEGER NOT NULL
) STRICT;

CREATE TABLE notes (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

CREATE TABLE owners (
    id          TEXT    NOT NULL PRIMARY KEY,
    alive_until INTEGER NOT NULL
, leaving INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE people (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    name    TEXT    NOT NULL,
    address TEXT    NOT NULL,
    owner   INTEGER NOT NULL,
    since   INTEGER NOT NULL
) STRICT;

CREATE TABLE piece_vectors (
    model  INTEGER NOT NULL,
    piece  BLOB    NOT NULL,
    used   INTEGER NOT NULL, -- when it was last saved or used
    vector BLOB    NOT NULL,
    PRIMARY KEY (model, piece)
) STRICT;

CREATE TABLE "questions" (
    id       TEXT    NOT NULL PRIMARY KEY,
    run      TEXT    NOT NULL,             -- that asks
    room     TEXT    NOT NULL,
    expires  INTEGER NOT NULL,             -- 0 is withdrawn
    carrier  TEXT    NOT NULL DEFAULT '',  -- the run that carries out what was chosen; '' is not answered
    question TEXT    NOT NULL              -- all of it, as JSON
) STRICT;

CREATE TABLE reminders (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- the order in which they were asked for
    id      TEXT    NOT NULL UNIQUE,
    room    TEXT    NOT NULL REFERENCES rooms (id),
    person  TEXT    NOT NULL,
    due     INTEGER NOT NULL, -- the next time
    content TEXT    NOT NULL  -- JSON
) STRICT;

CREATE TABLE room_notes (
    seq        INTEGER PRIMARY KEY, -- the order in which they were kept
    room       TEXT    NOT NULL REFERENCES rooms (id),
    kind       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    about      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    first      TEXT    NOT NULL,
    last       TEXT    NOT NULL,
    first_turn INTEGER NOT NULL,
    last_turn  INTEGER NOT NULL,
    at         INTEGER NOT NULL, expires INTEGER NOT NULL DEFAULT 0,
    UNIQUE (room, kind, key)
) STRICT;

CREATE TABLE rooms (
    id        TEXT    NOT NULL PRIMARY KEY,
    world     TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    turns     INTEGER NOT NULL DEFAULT 0, -- the last turn number that was given
    attention TEXT    NOT NULL DEFAULT ''
, chats TEXT NOT NULL DEFAULT '', address TEXT NOT NULL DEFAULT '', gone INTEGER NOT NULL DEFAULT 0) STRICT;

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
, author TEXT NOT NULL DEFAULT '', deaths INTEGER NOT NULL DEFAULT 0, attempts INTEGER NOT NULL DEFAULT 0, retried INTEGER NOT NULL DEFAULT 0, counted INTEGER NOT NULL DEFAULT 0, parked INTEGER NOT NULL DEFAULT 0, ending TEXT NOT NULL DEFAULT '', continuation TEXT NOT NULL DEFAULT '') STRICT;

CREATE TABLE spending (
    day      TEXT    NOT NULL,
    bucket   TEXT    NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,
    warned   INTEGER NOT NULL DEFAULT 0, usd INTEGER NOT NULL DEFAULT 0, input INTEGER NOT NULL DEFAULT 0, cached INTEGER NOT NULL DEFAULT 0, output INTEGER NOT NULL DEFAULT 0, unpriced INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, bucket)
) STRICT, WITHOUT ROWID;

CREATE TABLE upload_pieces (
    upload TEXT    NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL, -- from 0; -1 is the thumbnail
    data   BLOB    NOT NULL,
    PRIMARY KEY (upload, n)
) STRICT;

CREATE TABLE uploads (
    id        TEXT    NOT NULL PRIMARY KEY,
    room      TEXT    NOT NULL REFERENCES rooms (id),
    sender    TEXT    NOT NULL,
    message   TEXT    NOT NULL DEFAULT '', -- the message that names it; '' for none yet
    name      TEXT    NOT NULL,
    type      TEXT    NOT NULL,
    size      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    attempt   TEXT    NOT NULL,
    complete  INTEGER NOT NULL DEFAULT FALSE,
    thumbnail INTEGER NOT NULL DEFAULT FALSE,
    evicted   INTEGER NOT NULL DEFAULT FALSE -- its content was removed
) STRICT;

CREATE TABLE windows (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL, -- from then on it does not matter
    saved TEXT    NOT NULL  -- JSON, or 'running' or 'ended'
) STRICT;

CREATE TABLE worlds (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    gone      INTEGER NOT NULL -- the agent is no longer there
) STRICT;

CREATE INDEX approvals_of_room ON approvals (room, at);

CREATE INDEX members_by_entity ON members (entity);

CREATE INDEX memories_by_author ON memories (author, room);

CREATE INDEX memories_by_turn ON memories (room, kind, turn, seq);

CREATE INDEX memories_of_run ON memories (room, turn);

CREATE INDEX memory_vectors_by_model ON memory_vectors (model, seq);

CREATE UNIQUE INDEX people_one_owner ON people (owner) WHERE owner;

CREATE INDEX questions_by_carrier ON questions (carrier) WHERE carrier <> '';

CREATE INDEX questions_of_run ON questions (run);

CREATE INDEX questions_open ON questions (room, expires) WHERE carrier = '';

CREATE UNIQUE INDEX questions_unanswered ON questions (run) WHERE carrier = '';

CREATE INDEX reminders_due ON reminders (due);

CREATE INDEX reminders_of_person ON reminders (person);

CREATE INDEX reminders_of_room ON reminders (room, due);

CREATE INDEX room_notes_about ON room_notes (about, kind, seq) WHERE about <> '';

CREATE INDEX room_notes_by_age ON room_notes (room, kind, seq);

CREATE INDEX rooms_by_name ON rooms (name COLLATE NOCASE) WHERE name <> '';

CREATE INDEX rooms_by_world ON rooms (world) WHERE world <> '';

CREATE INDEX runs_open ON runs (room, turn) WHERE status = '';

CREATE INDEX runs_set_aside ON runs (opened) WHERE failure = 'set_aside';

CREATE INDEX uploads_of_message ON uploads (message);

CREATE INDEX uploads_of_room ON uploads (room);

CREATE INDEX uploads_stored ON uploads (size) WHERE NOT evicted;

CREATE INDEX uploads_waiting ON uploads (sender) WHERE message = '';

CREATE TRIGGER files_go AFTER DELETE ON memories WHEN old.role = 'said' BEGIN
    DELETE FROM files WHERE run = old.room || '#' || old.turn;
END;

CREATE TRIGGER memory_vectors_go AFTER DELETE ON memories BEGIN
    DELETE FROM memory_vectors WHERE seq = old.seq;
END;

CREATE TRIGGER memory_words_go AFTER DELETE ON memories BEGIN
    DELETE FROM memory_words WHERE rowid = old.seq;
    UPDATE memory_words_until SET seq = (SELECT ifnull(max(seq), 0) FROM memories) -- the next message can have the number of this one
        WHERE seq > (SELECT ifnull(max(seq), 0) FROM memories);
END;

CREATE TRIGGER uploads_go AFTER DELETE ON memories WHEN old.role IN ('input', 'heard') BEGIN
    DELETE FROM uploads WHERE message = old.id;
END;

INSERT INTO identity (id) VALUES (lower(hex(randomblob(8))));
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_words_until (seq) VALUES (0);
