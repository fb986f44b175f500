-- Until when a note holds, 0 is for as long as it stands; and the notes about a person are found in all rooms.

-- +goose Up
ALTER TABLE room_notes ADD COLUMN expires bigint NOT NULL DEFAULT 0;
CREATE INDEX room_notes_about ON room_notes (about, kind, seq) WHERE about <> '';
CREATE INDEX room_notes_expiring ON room_notes (expires) WHERE expires > 0;

-- +goose Down
DROP INDEX room_notes_expiring;
DROP INDEX room_notes_about;
ALTER TABLE room_notes DROP COLUMN expires;
