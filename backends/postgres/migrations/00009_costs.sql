-- Adds costs to what was spent, by day and bucket: money in nano-dollars, and the tokens of calls that have ended.
-- unpriced are tokens of models whose price is unknown.

-- +goose Up
ALTER TABLE spending ADD COLUMN usd bigint NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN input bigint NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN cached bigint NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN output bigint NOT NULL DEFAULT 0;
ALTER TABLE spending ADD COLUMN unpriced bigint NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE spending DROP COLUMN unpriced;
ALTER TABLE spending DROP COLUMN output;
ALTER TABLE spending DROP COLUMN cached;
ALTER TABLE spending DROP COLUMN input;
ALTER TABLE spending DROP COLUMN usd;
