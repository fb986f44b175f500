-- Adds what was spent of the platforms' request budgets, so that a restart doesn't begin with full budgets and exceed
-- them. The row without a scope has the state of the process that saved the others.

-- +goose Up
CREATE TABLE windows (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL, -- from then on it does not matter
    saved TEXT    NOT NULL  -- JSON, or 'running' or 'ended'
) STRICT;

-- +goose Down
DROP TABLE windows;
