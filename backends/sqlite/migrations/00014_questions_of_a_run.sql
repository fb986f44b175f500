-- A run can ask several questions, one after the other, of which at most one is unanswered. run was UNIQUE, which
-- SQLite can't drop, so the table is copied, with its rowids, which are the order of the questions.

-- +goose Up
CREATE TABLE asked (
    id       TEXT    NOT NULL PRIMARY KEY,
    run      TEXT    NOT NULL,             -- that asks
    room     TEXT    NOT NULL,
    expires  INTEGER NOT NULL,             -- 0 is withdrawn
    carrier  TEXT    NOT NULL DEFAULT '',  -- the run that carries out what was chosen; '' is not answered
    question TEXT    NOT NULL              -- all of it, as JSON
) STRICT;
INSERT INTO asked (rowid, id, run, room, expires, carrier, question)
    SELECT rowid, id, run, room, expires, carrier, question FROM questions;
DROP TABLE questions;
ALTER TABLE asked RENAME TO questions;

CREATE INDEX questions_of_run ON questions (run);
CREATE UNIQUE INDEX questions_unanswered ON questions (run) WHERE carrier = '';
CREATE INDEX questions_open ON questions (room, expires) WHERE carrier = '';
CREATE INDEX questions_by_carrier ON questions (carrier) WHERE carrier <> '';

-- +goose Down
DELETE FROM questions WHERE rowid NOT IN (SELECT max(rowid) FROM questions GROUP BY run);
DROP INDEX questions_of_run;
DROP INDEX questions_unanswered;
CREATE UNIQUE INDEX questions_of_run ON questions (run);
