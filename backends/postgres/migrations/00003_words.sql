-- Adds an index of words, by which messages are found. It is derived. Every message up to memory_words_until.seq has a
-- row, and some after it. Numbers are not committed in order, so a number is only safe to skip to when all transactions
-- that could add a lower one have ended: next becomes seq when all transactions before fence have ended. See indexWords
-- in words.go.

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
