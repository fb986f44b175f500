-- A run that waits for a person is parked: it stays open without holding its room or a process. What it needs to
-- continue is deleted when it ends. Adds an index by which old approvals are deleted.

-- +goose Up
ALTER TABLE runs ADD COLUMN parked boolean NOT NULL DEFAULT false; -- it can't be started before ready
ALTER TABLE runs ADD COLUMN ending text NOT NULL DEFAULT ''; -- the status with which it is to end instead of continuing; '' for none
ALTER TABLE runs ADD COLUMN continuation text NOT NULL DEFAULT ''; -- what its next holder needs
CREATE INDEX approvals_old ON approvals (expires);

-- +goose Down
DROP INDEX approvals_old;
ALTER TABLE runs DROP COLUMN continuation;
ALTER TABLE runs DROP COLUMN ending;
ALTER TABLE runs DROP COLUMN parked;
