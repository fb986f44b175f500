-- The oldest release that can use the tables, for the sentence with which earlier programs refuse them. A later migration that raises oldest
-- sets it to the release that it comes with.

-- +goose Up
ALTER TABLE identity ADD COLUMN release text NOT NULL DEFAULT '';
UPDATE identity SET release = '0.1.0-rc.1';

-- +goose Down
ALTER TABLE identity DROP COLUMN release;
