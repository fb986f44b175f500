-- Adds approvals of calls of actions, and what people decided. The table has no content of conversations: arguments and
-- kind are hashes.

-- +goose Up
CREATE TABLE approvals (
    id        text COLLATE "C" NOT NULL PRIMARY KEY,
    room      text COLLATE "C" NOT NULL,
    run       text COLLATE "C" NOT NULL,
    call      text COLLATE "C" NOT NULL,
    tool      text COLLATE "C" NOT NULL,
    kind      text COLLATE "C" NOT NULL,
    arguments text COLLATE "C" NOT NULL,
    effect    text COLLATE "C" NOT NULL,
    asker     text COLLATE "C" NOT NULL,
    at        bigint NOT NULL,
    expires   bigint NOT NULL,
    decision  text COLLATE "C" NOT NULL,
    decider   text COLLATE "C" NOT NULL,
    decided   bigint NOT NULL
);
CREATE INDEX approvals_of_room ON approvals (room, at);

-- +goose Down
DROP TABLE approvals;
