-- Adds the vectors of pieces of the agent's knowledge, so that a restart does not pay for them again. They are derived.
-- The model is a hash of its name, the piece one of its text.

-- +goose Up
CREATE TABLE piece_vectors (
    model  bigint NOT NULL,
    piece  bytea  NOT NULL,
    used   bigint NOT NULL, -- when it was last saved or used
    vector bytea  NOT NULL,
    PRIMARY KEY (model, piece)
);
CREATE INDEX piece_vectors_by_use ON piece_vectors (used);

-- +goose Down
DROP TABLE piece_vectors;
