-- Adds approved users (people) and pairing requests (knocks): a request without an id is the open one for an owner.
-- Adds to rooms the platform's ids of the chats that a room consists of.

-- +goose Up
CREATE TABLE people (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    name    TEXT    NOT NULL,
    address TEXT    NOT NULL,
    owner   INTEGER NOT NULL,
    since   INTEGER NOT NULL
) STRICT;
-- There is at most one owner, whatever two processes or two messages do at once.
CREATE UNIQUE INDEX people_one_owner ON people (owner) WHERE owner;

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

ALTER TABLE rooms ADD COLUMN chats TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE rooms DROP COLUMN chats;
DROP TABLE knocks;
DROP TABLE people;
