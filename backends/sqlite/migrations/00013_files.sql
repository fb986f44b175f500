-- Answers can show files of every kind, with names. The table pictures becomes files, and the JSON of stored calls is
-- rewritten: the numbers of pictures become files with type and size.

-- +goose Up
DROP TRIGGER pictures_go;
ALTER TABLE pictures RENAME TO files;
ALTER TABLE files ADD COLUMN name TEXT NOT NULL DEFAULT '';

-- +goose StatementBegin
CREATE TRIGGER files_go AFTER DELETE ON memories WHEN old.role = 'said' BEGIN
    DELETE FROM files WHERE run = old.room || '#' || old.turn;
END;
-- +goose StatementEnd

UPDATE memories SET content = json_set(content, '$.calls', (
    SELECT json_group_array(json(CASE WHEN c.value ->> '$.images' IS NULL THEN c.value ELSE
        json_set(json_remove(c.value, '$.images'), '$.files', json((
            SELECT json_group_array(json_object('n', f.n, 'type', f.type, 'size', length(f.data)) ORDER BY f.n)
            FROM json_each(c.value, '$.images') i JOIN files f ON f.run = memories.room || '#' || memories.turn AND f.n = i.value + 0)))
        END) ORDER BY c.key) FROM json_each(memories.content, '$.calls') c))
WHERE content LIKE '%"images":[%';

UPDATE runs SET verdict = json_set(verdict, '$.calls', (
    SELECT json_group_array(json(CASE WHEN c.value ->> '$.images' IS NULL THEN c.value ELSE
        json_set(json_remove(c.value, '$.images'), '$.files', json((
            SELECT json_group_array(json_object('n', f.n, 'type', f.type, 'size', length(f.data)) ORDER BY f.n)
            FROM json_each(c.value, '$.images') i JOIN files f ON f.run = runs.id AND f.n = i.value + 0)))
        END) ORDER BY c.key) FROM json_each(runs.verdict, '$.calls') c))
WHERE verdict LIKE '%"images":[%';

-- +goose Down
DROP TRIGGER files_go;
ALTER TABLE files DROP COLUMN name;
ALTER TABLE files RENAME TO pictures;

-- +goose StatementBegin
CREATE TRIGGER pictures_go AFTER DELETE ON memories WHEN old.role = 'said' BEGIN
    DELETE FROM pictures WHERE run = old.room || '#' || old.turn;
END;
-- +goose StatementEnd
