-- A run that waits for a person is parked: it stays open without holding its room or a process. What it needs to
-- continue is deleted when it ends.

-- +goose Up
ALTER TABLE runs ADD COLUMN parked INTEGER NOT NULL DEFAULT 0; -- it can't be started before ready
ALTER TABLE runs ADD COLUMN ending TEXT NOT NULL DEFAULT ''; -- the status with which it is to end instead of continuing; '' for none
ALTER TABLE runs ADD COLUMN continuation TEXT NOT NULL DEFAULT ''; -- what its next holder needs

-- +goose Down
ALTER TABLE runs DROP COLUMN continuation;
ALTER TABLE runs DROP COLUMN ending;
ALTER TABLE runs DROP COLUMN parked;
