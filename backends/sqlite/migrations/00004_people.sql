-- Whom the owner has let in, and who knocks: a knock without an id waits for the owner. What chats a room is part of.

-- +goose Up
CREATE TABLE people (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    name    TEXT    NOT NULL,
    address TEXT    NOT NULL,
    owner   INTEGER NOT NULL,
    since   INTEGER NOT NULL
) STRICT;
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
