-- Adds what the agent noted of people, as a JSON object.

-- +goose Up
ALTER TABLE entities ADD COLUMN details TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE entities DROP COLUMN details;
