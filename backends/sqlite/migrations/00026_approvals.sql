-- Adds approvals of calls of actions, and what people decided. The table has no content of conversations: arguments and
-- kind are hashes.

-- +goose Up
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
CREATE INDEX approvals_of_room ON approvals (room, at);

-- +goose Down
DROP TABLE approvals;
