-- Where a room was last reached: JSON, '' if it never was.

-- +goose Up
ALTER TABLE rooms ADD COLUMN address TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE rooms DROP COLUMN address;
