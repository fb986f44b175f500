-- Adds the directory: people and bots (entities), worlds (servers, groups) and memberships; names are a JSON list, the
-- newest last. Adds notes, the state that connectors keep. Adds to runs the author of the newest input, whose next
-- message can join the run.

-- +goose Up
CREATE TABLE entities (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    names     TEXT    NOT NULL,
    bot       INTEGER NOT NULL
) STRICT;

CREATE TABLE worlds (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    gone      INTEGER NOT NULL -- the agent is no longer there
) STRICT;

CREATE TABLE members (
    world  TEXT    NOT NULL,
    entity TEXT    NOT NULL,
    role   TEXT    NOT NULL,
    gone   INTEGER NOT NULL,
    PRIMARY KEY (world, entity)
) STRICT, WITHOUT ROWID;

CREATE TABLE notes (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

ALTER TABLE rooms ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
CREATE INDEX rooms_by_world ON rooms (world) WHERE world <> '';
ALTER TABLE runs ADD COLUMN author TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE runs DROP COLUMN author;
DROP INDEX rooms_by_world;
ALTER TABLE rooms DROP COLUMN gone;
DROP TABLE notes;
DROP TABLE members;
DROP TABLE worlds;
DROP TABLE entities;
