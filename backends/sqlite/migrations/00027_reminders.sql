-- Adds what people asked to be reminded of.

-- +goose Up
CREATE TABLE reminders (
    seq     INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, -- the order in which they were asked for
    id      TEXT    NOT NULL UNIQUE,
    room    TEXT    NOT NULL REFERENCES rooms (id),
    person  TEXT    NOT NULL,
    due     INTEGER NOT NULL, -- the next time
    content TEXT    NOT NULL  -- JSON
) STRICT;
CREATE INDEX reminders_due ON reminders (due);
CREATE INDEX reminders_of_room ON reminders (room, due);
CREATE INDEX reminders_of_person ON reminders (person);

-- +goose Down
DROP TABLE reminders;
