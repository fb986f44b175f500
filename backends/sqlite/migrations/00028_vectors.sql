-- Adds the vectors by which messages are found. They are derived, so they can be made again. The primary key keeps the
-- rows of a room together, in the order of its turns, as a search reads them; room and model are hashes of their names,
-- which are shorter. Model 0 is a message that waits for a vector.

-- +goose Up
CREATE TABLE memory_vectors (
    room    INTEGER NOT NULL,
    turn    INTEGER NOT NULL,
    seq     INTEGER NOT NULL UNIQUE,
    model   INTEGER NOT NULL,
    version INTEGER NOT NULL, -- changes with the text, so that a vector of an earlier text is recognized
    vector  BLOB    NOT NULL, -- empty is none
    PRIMARY KEY (room, turn, seq)
) STRICT, WITHOUT ROWID;
CREATE INDEX memory_vectors_by_model ON memory_vectors (model, seq);

-- +goose StatementBegin
CREATE TRIGGER memory_vectors_go AFTER DELETE ON memories BEGIN
    DELETE FROM memory_vectors WHERE seq = old.seq;
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER memory_vectors_go;
DROP TABLE memory_vectors;
