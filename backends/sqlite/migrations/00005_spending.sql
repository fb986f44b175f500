-- Adds what was spent, by day and bucket (a person, a room, everything), so that daily limits hold over a restart. Days
-- that are no longer needed are deleted when a new one begins.

-- +goose Up
CREATE TABLE spending (
    day      TEXT    NOT NULL,
    bucket   TEXT    NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,
    warned   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, bucket)
) STRICT, WITHOUT ROWID;

-- +goose Down
DROP TABLE spending;
