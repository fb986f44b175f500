-- Adds files that people send ahead of the messages that name them, in pieces, so that no file has to fit into memory.

-- +goose Up
CREATE TABLE uploads (
    id        text COLLATE "C" NOT NULL PRIMARY KEY,
    room      text COLLATE "C" NOT NULL REFERENCES rooms (id),
    sender    text COLLATE "C" NOT NULL,
    message   text COLLATE "C" NOT NULL DEFAULT '', -- the message that names it; '' for none yet
    name      text    NOT NULL,
    type      text    NOT NULL,
    size      bigint  NOT NULL,
    at        bigint  NOT NULL,
    attempt   text    NOT NULL,
    complete  boolean NOT NULL DEFAULT false,
    thumbnail boolean NOT NULL DEFAULT false,
    evicted   boolean NOT NULL DEFAULT false -- its content was removed
);
CREATE INDEX uploads_of_room ON uploads (room);
CREATE INDEX uploads_of_message ON uploads (message);
CREATE INDEX uploads_waiting ON uploads (sender) WHERE message = '';
-- The sizes are in the index, so that their sum can be read from it alone.
CREATE INDEX uploads_stored ON uploads (size) WHERE NOT evicted;

CREATE TABLE upload_pieces (
    upload text COLLATE "C" NOT NULL REFERENCES uploads (id) ON DELETE CASCADE,
    n      bigint NOT NULL, -- from 0; -1 is the thumbnail
    data   bytea  NOT NULL,
    PRIMARY KEY (upload, n)
);
ALTER TABLE upload_pieces ALTER COLUMN data SET STORAGE EXTERNAL; -- most formats are compressed already

-- +goose StatementBegin
CREATE FUNCTION uploads_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM uploads WHERE message = old.id;
    RETURN NULL;
END $$;
-- +goose StatementEnd
CREATE TRIGGER uploads_go AFTER DELETE ON memories FOR EACH ROW WHEN (old.role IN ('input', 'heard')) EXECUTE FUNCTION uploads_go();

-- +goose Down
DROP TRIGGER uploads_go ON memories;
DROP FUNCTION uploads_go();
DROP TABLE upload_pieces;
DROP TABLE uploads;
