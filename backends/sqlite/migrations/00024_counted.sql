-- Marks runs that were counted as a message of the day, so that a run which is adopted after a restart is not counted
-- twice.

-- +goose Up
ALTER TABLE runs ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET counted = 1 WHERE epoch > 0; -- what was begun may have been counted: people get the benefit of the doubt

-- +goose Down
ALTER TABLE runs DROP COLUMN counted;
