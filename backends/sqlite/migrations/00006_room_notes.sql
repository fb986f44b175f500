-- Adds notes on rooms, such as summaries and settings. first_turn and last_turn are the part of the conversation that a
-- note was taken from, 0 for none: when one of these messages is deleted or edited, the note is deleted too.

-- +goose Up
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
    at         INTEGER NOT NULL,
    UNIQUE (room, kind, key)
) STRICT;
CREATE INDEX room_notes_by_age ON room_notes (room, kind, seq);

-- +goose Down
DROP TABLE room_notes;
