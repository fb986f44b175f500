-- The oldest release that can use the tables, for the sentence with which earlier programs refuse them. Each later migration sets it to the
-- release that it comes with.

-- +goose Up
ALTER TABLE identity ADD COLUMN release TEXT NOT NULL DEFAULT '';
UPDATE identity SET release = '0.1.0-rc.1';

-- +goose Down
ALTER TABLE identity DROP COLUMN release;
