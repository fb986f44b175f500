-- The words by which messages are found. They are derived: each message up to memory_words_until.seq has a row, and of those after it
-- some have. Numbers are not committed in order: those up to next become the limit when all transactions before fence have ended.

-- +goose Up
CREATE TABLE memory_words (
    seq   bigint NOT NULL PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE,
    room  text COLLATE "C" NOT NULL,
    words text COLLATE "C" NOT NULL, -- as the program made them, so that all stores find the same
    found tsvector NOT NULL
);
CREATE INDEX memory_words_by_room ON memory_words (room, seq);
CREATE INDEX memory_words_found ON memory_words USING gin (found);

CREATE TABLE memory_words_until (
    seq   bigint NOT NULL,
    next  bigint NOT NULL,
    fence xid8   NOT NULL
);
INSERT INTO memory_words_until (seq, next, fence) VALUES (0, 0, '0');

-- +goose Down
DROP TABLE memory_words_until;
DROP TABLE memory_words;
