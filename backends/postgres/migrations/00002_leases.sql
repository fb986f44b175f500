-- Adds leases: which process receives the messages of a platform. The token rises with each new holder, and what is
-- written under an older one is refused, because its process may not have noticed that it lost the lease.

-- +goose Up
CREATE TABLE leases (
    name  text COLLATE "C" NOT NULL PRIMARY KEY,
    owner text   NOT NULL,
    token bigint NOT NULL,
    ends  bigint NOT NULL
);

-- +goose Down
DROP TABLE leases;
