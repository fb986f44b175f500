-- What answers show beside their text. It goes with the answer.

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
