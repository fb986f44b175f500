-- Prepares the deletion of what is no longer needed: entities get the time at which they were written. Deletes what
-- earlier versions kept by mistake: the text in runs and questions whose messages were deleted.

-- +goose Up
ALTER TABLE entities ADD COLUMN met INTEGER NOT NULL DEFAULT 0; -- when the row was written
UPDATE entities SET met = unixepoch() * 1000000000;
CREATE INDEX members_by_entity ON members (entity);

DELETE FROM questions
WHERE NOT EXISTS (SELECT 1 FROM memories m JOIN runs r ON r.room = m.room AND r.turn = m.turn
        WHERE r.id = questions.run AND m.role IN ('input', 'said'))
    AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id IN (questions.run, questions.carrier) AND r.status = '');
UPDATE runs SET text = '', verdict = '', acting = iif(acting = '', '', '-'), acted = iif(acted = '', '', '-')
WHERE status <> ''
    AND NOT EXISTS (SELECT 1 FROM memories m WHERE m.room = runs.room AND m.turn = runs.turn AND m.role IN ('input', 'said'))
    AND NOT EXISTS (SELECT 1 FROM questions WHERE run = runs.id AND carrier <> '');

-- +goose Down
DROP INDEX members_by_entity;
ALTER TABLE entities DROP COLUMN met;
