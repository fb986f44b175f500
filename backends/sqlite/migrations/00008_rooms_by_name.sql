-- Adds indexes by which rooms are found by their names, and by the people who have written there.

-- +goose Up
CREATE INDEX rooms_by_name ON rooms (name COLLATE NOCASE) WHERE name <> '';
CREATE INDEX memories_by_author ON memories (author, room);

-- +goose Down
DROP INDEX memories_by_author;
DROP INDEX rooms_by_name;
