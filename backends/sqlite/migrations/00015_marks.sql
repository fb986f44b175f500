-- Adds marks: which events were accepted, for those without a memory, because it was deleted or because they were
-- commands. Without a mark, a redelivery by the platform would bring back what was deleted, or repeat a command. A mark
-- holds no id and no text. While a message is in memories, that is its mark.

-- +goose Up
CREATE TABLE marks (
    id       BLOB    NOT NULL PRIMARY KEY, -- the first 16 bytes of the SHA-256 of the event's id
    turn     INTEGER NOT NULL,             -- it belonged to; of a command that stops turns, the last one
    answered INTEGER NOT NULL,             -- by the run of that turn
    at       INTEGER NOT NULL              -- when it was set
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE marks;
