-- What was spent of the budgets of platforms. The row without a scope says how the process ended that saved the others.

-- +goose Up
CREATE TABLE windows (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL, -- from then on it does not matter
    saved TEXT    NOT NULL  -- JSON, or 'running' or 'ended'
) STRICT;

-- +goose Down
DROP TABLE windows;
