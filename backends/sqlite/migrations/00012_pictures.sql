-- Adds the pictures that answers show. A trigger deletes them with the memory of the answer, so that every way to
-- delete it does.

-- +goose Up
CREATE TABLE pictures (
    run  TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    type TEXT    NOT NULL,
    data BLOB    NOT NULL,
    PRIMARY KEY (run, n)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER pictures_go AFTER DELETE ON memories WHEN old.role = 'said' BEGIN
    DELETE FROM pictures WHERE run = old.room || '#' || old.turn;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER pictures_go;
DROP TABLE pictures;
