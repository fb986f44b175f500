-- Words are indexed without their endings now (core/search). Rows of an older form are made again in the background, also those
-- that a replica of the version before adds meanwhile: it leaves form at its default.

-- +goose Up
ALTER TABLE memory_words ADD COLUMN form smallint NOT NULL DEFAULT 1;
CREATE INDEX memory_words_outdated ON memory_words (seq) WHERE form < 2;

-- +goose Down
DROP INDEX memory_words_outdated;
ALTER TABLE memory_words DROP COLUMN form;
