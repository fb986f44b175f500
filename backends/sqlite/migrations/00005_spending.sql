-- What was spent, by day and bucket. Old days are deleted when a new one begins.

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
