-- What a platform forbade until a time; times are unix nanoseconds.

-- +goose Up
CREATE TABLE holds (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE holds;
