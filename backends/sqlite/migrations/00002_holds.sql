-- Adds holds: scopes of a platform's requests that the platform has forbidden until a time, in unix nanoseconds. They
-- are stored so that a restart during a long hold keeps to it.

-- +goose Up
CREATE TABLE holds (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT;

-- +goose Down
DROP TABLE holds;
