-- Adds files that people send ahead of the messages that name them, in pieces, so that no file has to fit into memory.

-- +goose Up
CREATE TABLE uploads (
    id        TEXT    NOT NULL PRIMARY KEY,
    room      TEXT    NOT NULL REFERENCES rooms (id),
    sender    TEXT    NOT NULL,
    message   TEXT    NOT NULL DEFAULT '', -- the message that names it; '' for none yet
    name      TEXT    NOT NULL,
    type      TEXT    NOT NULL,
    size      INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    attempt   TEXT    NOT NULL,
    complete  INTEGER NOT NULL DEFAULT FALSE,
    thumbnail INTEGER NOT NULL DEFAULT FALSE,
    evicted   INTEGER NOT NULL DEFAULT FALSE -- its content was removed
) STRICT;
CREATE INDEX uploads_of_room ON uploads (room);
CREATE INDEX uploads_of_message ON uploads (message);
CREATE INDEX uploads_waiting ON uploads (sender) WHERE message = '';
-- The sizes are in the index, so that their sum is read from it alone.
CREATE INDEX uploads_stored ON uploads (size) WHERE NOT evicted;

CREATE TABLE upload_pieces (
    upload TEXT    NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    n      INTEGER NOT NULL, -- from 0; -1 is the thumbnail
    data   BLOB    NOT NULL,
    PRIMARY KEY (upload, n)
) STRICT;

-- +goose StatementBegin
CREATE TRIGGER uploads_go AFTER DELETE ON memories WHEN old.role IN ('input', 'heard') BEGIN
    DELETE FROM uploads WHERE message = old.id;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER uploads_go;
DROP TABLE upload_pieces;
DROP TABLE uploads;
