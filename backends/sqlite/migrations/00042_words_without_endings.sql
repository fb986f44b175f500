-- Words are indexed without their endings now (core/search), so all messages are indexed again, in the background. A new table
-- is faster than deleting all rows of the old one.

-- +goose Up
DROP TABLE memory_words;
CREATE VIRTUAL TABLE memory_words USING fts5 (room, words, tokenize = 'ascii', detail = 'column', columnsize = 0);
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
UPDATE memory_words_until SET seq = 0;

-- +goose Down
DROP TABLE memory_words;
CREATE VIRTUAL TABLE memory_words USING fts5 (room, words, tokenize = 'ascii', detail = 'column', columnsize = 0);
INSERT INTO memory_words (memory_words, rank) VALUES ('secure-delete', 1);
UPDATE memory_words_until SET seq = 0;
