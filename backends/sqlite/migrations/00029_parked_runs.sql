-- A run that waits for a person lets go of its room. What it needs to go on goes when it has ended.

-- +goose Up
ALTER TABLE runs ADD COLUMN parked INTEGER NOT NULL DEFAULT 0;      -- it waits until it is ready
ALTER TABLE runs ADD COLUMN ending TEXT NOT NULL DEFAULT '';        -- the status with which it is to end
ALTER TABLE runs ADD COLUMN continuation TEXT NOT NULL DEFAULT ''; -- what its next holder needs

-- +goose Down
ALTER TABLE runs DROP COLUMN continuation;
ALTER TABLE runs DROP COLUMN ending;
ALTER TABLE runs DROP COLUMN parked;
