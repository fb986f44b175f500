-- Adds the vectors of pieces of the agent's knowledge, so that a restart does not pay for them again. They are derived.
-- The model is a hash of its name, the piece one of its text.

-- +goose Up
CREATE TABLE piece_vectors (
    model  INTEGER NOT NULL,
    piece  BLOB    NOT NULL,
    used   INTEGER NOT NULL, -- when it was last saved or used
    vector BLOB    NOT NULL,
    PRIMARY KEY (model, piece)
) STRICT;

-- +goose Down
DROP TABLE piece_vectors;
