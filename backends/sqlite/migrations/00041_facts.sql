-- Until when a note holds, 0 is for as long as it stands; and the notes about a person are found in all rooms.

-- +goose Up
ALTER TABLE room_notes ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
CREATE INDEX room_notes_about ON room_notes (about, kind, seq) WHERE about <> '';

-- +goose Down
DROP INDEX room_notes_about;
ALTER TABLE room_notes DROP COLUMN expires;
