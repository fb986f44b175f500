-- What belongs to one run is found without reading its room.

-- +goose Up
CREATE INDEX memories_of_run ON memories (room, turn);

-- +goose Down
DROP INDEX memories_of_run;
