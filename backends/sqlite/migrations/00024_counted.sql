-- A run that was counted as a message of the day is not counted once more after a restart.

-- +goose Up
ALTER TABLE runs ADD COLUMN counted INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET counted = 1 WHERE epoch > 0; -- what was begun may have been counted: people get the benefit of the doubt

-- +goose Down
ALTER TABLE runs DROP COLUMN counted;
