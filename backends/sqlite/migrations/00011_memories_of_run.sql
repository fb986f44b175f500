-- Adds an index on room and turn, by which the messages of one run are found. The one that begins with room and kind
-- can't do that, because a run has memories of all kinds.

-- +goose Up
CREATE INDEX memories_of_run ON memories (room, turn);

-- +goose Down
DROP INDEX memories_of_run;
