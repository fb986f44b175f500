-- A run that waits for a person lets go of its room. What it needs to go on goes when it has ended.

-- +goose Up
ALTER TABLE runs ADD COLUMN parked boolean NOT NULL DEFAULT false;     -- it waits until it is ready
ALTER TABLE runs ADD COLUMN ending text NOT NULL DEFAULT '';           -- the status with which it is to end
ALTER TABLE runs ADD COLUMN continuation text NOT NULL DEFAULT ''; -- what its next holder needs
CREATE INDEX approvals_old ON approvals (expires);

-- +goose Down
DROP INDEX approvals_old;
ALTER TABLE runs DROP COLUMN continuation;
ALTER TABLE runs DROP COLUMN ending;
ALTER TABLE runs DROP COLUMN parked;
