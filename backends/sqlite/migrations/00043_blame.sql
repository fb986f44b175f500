-- What counts as the death of a run, and which waits outlast later messages. blamed counts the deaths that the run probably caused; risk
-- names what its holder is doing that can end a process; died_with is how many runs an owner had when the first of them was adopted, 0 is not
-- counted yet; lasting is whether a later message leaves a parked run alone.

-- +goose Up
ALTER TABLE runs ADD COLUMN blamed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN risk TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN lasting INTEGER NOT NULL DEFAULT 0;
ALTER TABLE owners ADD COLUMN died_with INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE owners DROP COLUMN died_with;
ALTER TABLE runs DROP COLUMN lasting;
ALTER TABLE runs DROP COLUMN risk;
ALTER TABLE runs DROP COLUMN blamed;
