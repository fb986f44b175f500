-- Adds the vectors by which messages are found. They are derived, so they can be made again. The model is a hash of its
-- name; model 0 is a message that waits for a vector.

-- +goose Up
CREATE TABLE memory_vectors (
    seq     bigint NOT NULL PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE,
    room    text COLLATE "C" NOT NULL,
    turn    bigint NOT NULL,
    model   bigint NOT NULL,
    version bigint NOT NULL, -- changes with the text, so that a vector of an earlier text is recognized
    claimed bigint NOT NULL DEFAULT 0, -- until when it is left to the replica that asks a model for it
    vector  bytea  NOT NULL            -- empty is none
);
CREATE INDEX memory_vectors_by_room ON memory_vectors (room, turn);
CREATE INDEX memory_vectors_by_model ON memory_vectors (model, seq);

-- +goose Down
DROP TABLE memory_vectors;
