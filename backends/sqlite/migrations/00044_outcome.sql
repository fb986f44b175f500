-- What an answer that has ended used, for readers that come later: outcome has the parts of the outcome that no query compares, with the epoch in
-- which the run ended. A process of an earlier version reopens and ends runs without it; then the epoch differs.

-- +goose Up
ALTER TABLE runs ADD COLUMN outcome TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE runs DROP COLUMN outcome;
