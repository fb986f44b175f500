-- Adds to rooms the address under which a room was last reached (JSON, '' for never), so that the agent can write there
-- on its own initiative. Adds questions with options, which people can answer after a restart.

-- +goose Up
ALTER TABLE rooms ADD COLUMN address TEXT NOT NULL DEFAULT '';

CREATE TABLE questions (
    id       TEXT    NOT NULL PRIMARY KEY,
    run      TEXT    NOT NULL UNIQUE,      -- that asks
    room     TEXT    NOT NULL,
    expires  INTEGER NOT NULL,             -- 0 is withdrawn
    carrier  TEXT    NOT NULL DEFAULT '',  -- the run that carries out what was chosen; '' is not answered
    question TEXT    NOT NULL              -- all of it, as JSON
) STRICT;

CREATE INDEX questions_open ON questions (room, expires) WHERE carrier = '';
CREATE INDEX questions_by_carrier ON questions (carrier) WHERE carrier <> '';

-- +goose Down
DROP TABLE questions;
ALTER TABLE rooms DROP COLUMN address;
