-- What was used by day and bucket: money in nano-dollars, and the tokens of ended calls. unpriced are tokens whose price is unknown.

-- +goose Up
ALTER TABLE spending ADD COLUMN usd INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN input INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN cached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN output INTEGER NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN unpriced INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE spending DROP COLUMN unpriced;
ALTER TABLE spending DROP COLUMN output;
ALTER TABLE spending DROP COLUMN cached;
ALTER TABLE spending DROP COLUMN input;
ALTER TABLE spending DROP COLUMN usd;
