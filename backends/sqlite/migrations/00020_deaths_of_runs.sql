-- Counts how often a process died while it held a run. A message that crashes every process that answers it would
-- otherwise be tried without end; after some deaths the run is set aside.

-- +goose Up
ALTER TABLE runs ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0; -- of its holders, except the last one, which owners tells
ALTER TABLE runs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0; -- that asked a model
ALTER TABLE runs ADD COLUMN retried INTEGER NOT NULL DEFAULT 0;  -- the newest turn of its room when it was retried
ALTER TABLE owners ADD COLUMN leaving INTEGER NOT NULL DEFAULT 0; -- it ends, or has ended, as planned

CREATE INDEX runs_set_aside ON runs (opened) WHERE failure = 'set_aside';

-- +goose Down
DROP INDEX runs_set_aside;
ALTER TABLE owners DROP COLUMN leaving;
ALTER TABLE runs DROP COLUMN retried;
ALTER TABLE runs DROP COLUMN attempts;
ALTER TABLE runs DROP COLUMN deaths;
