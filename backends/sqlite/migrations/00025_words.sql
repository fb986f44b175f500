-- Adds an index of words, by which messages are found. It is derived: every message up to the number in
-- memory_words_until has a row, if it has words. The program makes the words and a word for the room, so that all
-- stores find the same; here they are only split at spaces. Therefore the tokenizer is the simplest, and no positions
-- or sizes are stored (detail, columnsize).

-- +goose Up
CREATE VIRTUAL TABLE memory_words USING fts5 (room, words, tokenize = 'ascii', detail = 'column', columnsize = 0);
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1); -- what is deleted leaves nothing behind

CREATE TABLE memory_words_until (
    seq INTEGER NOT NULL
) STRICT;
INSERT INTO memory_words_until (seq) VALUES (0);

-- +goose StatementBegin
CREATE TRIGGER memory_words_go AFTER DELETE ON memories BEGIN
    DELETE FROM memory_words WHERE rowid = old.seq;
    UPDATE memory_words_until SET seq = (SELECT ifnull(max(seq), 0) FROM memories) -- the next message can have the number of this one
        WHERE seq > (SELECT ifnull(max(seq), 0) FROM memories);
END;
-- +goose StatementEnd

-- +goose Down
DROP TRIGGER memory_words_go;
DROP TABLE memory_words_until;
DROP TABLE memory_words;
