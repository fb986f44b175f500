-- Which process receives the messages of a platform. A token rises with each new holder, and what is written under an older one
-- is refused.

-- +goose Up
CREATE TABLE leases (
    name  text COLLATE "C" NOT NULL PRIMARY KEY,
    owner text   NOT NULL,
    token bigint NOT NULL,
    ends  bigint NOT NULL
);

-- +goose Down
DROP TABLE leases;
