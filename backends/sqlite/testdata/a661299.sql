-- What the version a661299 (schema 14) wrote: tests of upgrades open it. See TestOpenWrittenByA661299 for what is in it.
PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
INSERT INTO goose_db_version VALUES(1,0,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(2,1,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(3,2,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(4,3,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(5,4,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(6,5,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(7,6,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(8,7,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(9,8,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(10,9,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(11,10,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(12,11,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(13,12,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(14,13,1,'2026-11-22 10:30:26');
INSERT INTO goose_db_version VALUES(15,14,1,'2026-11-22 10:30:26');
CREATE TABLE rooms (
    id        TEXT    NOT NULL PRIMARY KEY,
    world     TEXT    NOT NULL,
    kind      TEXT    NOT NULL,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    created   INTEGER NOT NULL,
    turns     INTEGER NOT NULL DEFAULT 0, -- the last turn number that was given
    attention TEXT    NOT NULL DEFAULT ''
, chats TEXT NOT NULL DEFAULT '', address TEXT NOT NULL DEFAULT '', gone INTEGER NOT NULL DEFAULT 0) STRICT;
INSERT INTO rooms VALUES('telegram/1/42','','direct','telegram','Ada',1793534400000000000,4,'','','{"connector":"telegram","room":"telegram/1/42","own":"eyJjaGF0Ijo0Mn0="}',0);
INSERT INTO rooms VALUES('telegram/1/-7','telegram/1/-7','group','telegram','Engines',1793534400000000000,3,'','','{"connector":"telegram","room":"telegram/1/-7","own":"eyJjaGF0Ijo0Mn0="}',0);
INSERT INTO rooms VALUES('web/4f1c','','direct','web','',1793534400000000000,1,'','','{"connector":"web","room":"web/4f1c","own":"eyJjaGF0Ijo0Mn0="}',0);
CREATE TABLE runs (
    id        TEXT    NOT NULL PRIMARY KEY,
    room      TEXT    NOT NULL REFERENCES rooms (id),
    turn      INTEGER NOT NULL,
    kind      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    opened    INTEGER NOT NULL,
    ready     INTEGER NOT NULL,
    duty      TEXT    NOT NULL,
    epoch     INTEGER NOT NULL DEFAULT 0,  -- 0 was never started
    owner     TEXT    NOT NULL DEFAULT '',
    status    TEXT    NOT NULL DEFAULT '', -- '' is open
    failure   TEXT    NOT NULL DEFAULT '',
    withdrawn INTEGER NOT NULL DEFAULT 0,
    partial   INTEGER NOT NULL DEFAULT 0,
    shown     TEXT    NOT NULL DEFAULT '',
    text      TEXT    NOT NULL DEFAULT '',
    acting    TEXT    NOT NULL DEFAULT '',
    acted     TEXT    NOT NULL DEFAULT '',
    verdict   TEXT    NOT NULL DEFAULT ''
, author TEXT NOT NULL DEFAULT '') STRICT;
INSERT INTO runs VALUES('telegram/1/42#1','telegram/1/42',1,'direct','{"connector":"telegram","room":"telegram/1/42","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426307216002,1795343426307216002,'',1,'p1','completed','',0,0,'[{"part":0,"id":"1001"}]','Ada Lovelace.','','','{"outcome":{"status":"completed"},"text":"Ada Lovelace."}','telegram:42');
INSERT INTO runs VALUES('telegram/1/42#2','telegram/1/42',2,'direct','{"connector":"telegram","room":"telegram/1/42","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426310699114,1795343426310699114,'',1,'p1','completed','',0,0,'[{"part":0,"id":"1002"}]','Which one?','','','{"outcome":{"status":"completed"},"text":"Which one?"}','telegram:42');
INSERT INTO runs VALUES('telegram/1/42#3','telegram/1/42',3,'direct','{"connector":"telegram","room":"telegram/1/42","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426313458969,1795343426313458969,'',1,'p1','','',0,0,'[{"part":0}]','The engine is','','','','telegram:42');
INSERT INTO runs VALUES('telegram/1/-7#1','telegram/1/-7',1,'group','{"connector":"telegram","room":"telegram/1/-7","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426314992023,1795343426314992023,'',1,'p1','','',0,0,'[{"part":0}]','The mill computes.','','','{"outcome":{"status":"completed"},"text":"The mill computes."}','telegram:42');
INSERT INTO runs VALUES('web/4f1c#1','web/4f1c',1,'direct','{"connector":"web","room":"web/4f1c","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426316904850,1795343426316904850,'',1,'p1','','',0,0,'[{"part":0,"id":"2001"}]','The store holds numbers.','','','{"outcome":{"status":"completed"},"text":"The store holds numbers."}','telegram:42');
INSERT INTO runs VALUES('telegram/1/-7#3','telegram/1/-7',3,'group','{"connector":"telegram","room":"telegram/1/-7","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426319469419,1795343426319469419,'',0,'','','',0,0,'','','','','','telegram:42');
INSERT INTO runs VALUES('telegram/1/42#4','telegram/1/42',4,'direct','{"connector":"telegram","room":"telegram/1/42","payer":"telegram:42","own":"eyJjaGF0Ijo0Mn0="}',1795343426319979285,1795343426319979285,'obey',0,'','','',0,0,'','','','','','telegram:42');
CREATE TABLE owners (
    id          TEXT    NOT NULL PRIMARY KEY,
    alive_until INTEGER NOT NULL
) STRICT;
INSERT INTO owners VALUES('p1',1795339826317344194);
CREATE TABLE identity (
    id TEXT NOT NULL
) STRICT;
INSERT INTO identity VALUES('4dbebd5c9b50259d');
CREATE TABLE holds (
    scope TEXT    NOT NULL PRIMARY KEY,
    until INTEGER NOT NULL
) STRICT;
INSERT INTO holds VALUES('telegram/1/chat/42',2082758400000000000);
CREATE TABLE IF NOT EXISTS "memories" (
    seq         INTEGER PRIMARY KEY, -- the order in which they were stored
    id          TEXT    NOT NULL UNIQUE,
    room        TEXT    NOT NULL REFERENCES rooms (id),
    turn        INTEGER NOT NULL,
    role        TEXT    NOT NULL CHECK (role IN ('input', 'heard', 'said', 'beside')),
    kind        TEXT    NOT NULL,
    author      TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    text        TEXT    NOT NULL,
    in_reply_to TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    history     TEXT    NOT NULL,
    interrupted INTEGER NOT NULL,
    failure     TEXT    NOT NULL,
    content     TEXT    NOT NULL
) STRICT;
INSERT INTO memories VALUES(1,'m1','telegram/1/42',1,'input','','telegram:42','Ada','Who wrote the first program?','',1793534460000000000,'',0,'','');
INSERT INTO memories VALUES(2,'telegram/1/42#1','telegram/1/42',1,'said','','parley','Parley','Ada Lovelace.','m1',1793534460000000000,'',0,'','');
INSERT INTO memories VALUES(3,'m2','telegram/1/42',2,'input','','telegram:42','Ada','Play blue train','',1793534520000000000,'',0,'','');
INSERT INTO memories VALUES(4,'telegram/1/42#2','telegram/1/42',2,'said','','parley','Parley','Which one?','m2',1793534520000000000,'',0,'','');
INSERT INTO memories VALUES(5,'m3','telegram/1/42',3,'input','','telegram:42','Ada','Tell me of the engine','',1793534580000000000,'',0,'','');
INSERT INTO memories VALUES(6,'g1','telegram/1/-7',1,'input','','telegram:42','Ada','Parley, what is a mill?','',1793534640000000000,'',0,'','');
INSERT INTO memories VALUES(7,'w1','web/4f1c',1,'input','','telegram:42','Ada','And the store?','',1793534700000000000,'',0,'','');
INSERT INTO memories VALUES(8,'g2','telegram/1/-7',2,'heard','','telegram:42','Ada','I am not talking to the bot','',1793534760000000000,'',0,'','');
INSERT INTO memories VALUES(9,'g3','telegram/1/-7',3,'input','','telegram:42','Ada','Parley, and now?','',1793534820000000000,'',0,'','');
INSERT INTO memories VALUES(10,'m4','telegram/1/42',4,'input','','telegram:42','Ada','/status','',1793534880000000000,'',0,'','');
INSERT INTO memories VALUES(11,'act1','telegram/1/42',1,'beside','action_result','parley','','LOOKED','',1793534880000000000,'',0,'','');
CREATE TABLE people (
    seq     INTEGER PRIMARY KEY,
    id      TEXT    NOT NULL UNIQUE,
    name    TEXT    NOT NULL,
    address TEXT    NOT NULL,
    owner   INTEGER NOT NULL,
    since   INTEGER NOT NULL
) STRICT;
INSERT INTO people VALUES(1,'telegram:42','Ada','{"connector":"telegram","room":"telegram/1/42"}',1,1793534880000000000);
CREATE TABLE knocks (
    seq       INTEGER PRIMARY KEY,
    id        TEXT    NOT NULL UNIQUE,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    address   TEXT    NOT NULL,
    since     INTEGER NOT NULL,
    code      TEXT    NOT NULL,
    ends      INTEGER NOT NULL, -- 0 is never
    told      INTEGER NOT NULL
) STRICT;
CREATE TABLE spending (
    day      TEXT    NOT NULL,
    bucket   TEXT    NOT NULL,
    messages INTEGER NOT NULL DEFAULT 0,
    tokens   INTEGER NOT NULL DEFAULT 0,
    warned   INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, bucket)
) STRICT, WITHOUT ROWID;
INSERT INTO spending VALUES('2026-11-01','person/telegram:42',3,1500,0);
CREATE TABLE room_notes (
    seq        INTEGER PRIMARY KEY, -- the order in which they were kept
    room       TEXT    NOT NULL REFERENCES rooms (id),
    kind       TEXT    NOT NULL,
    key        TEXT    NOT NULL,
    about      TEXT    NOT NULL,
    text       TEXT    NOT NULL,
    first      TEXT    NOT NULL,
    last       TEXT    NOT NULL,
    first_turn INTEGER NOT NULL,
    last_turn  INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    UNIQUE (room, kind, key)
) STRICT;
CREATE TABLE entities (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    names     TEXT    NOT NULL,
    bot       INTEGER NOT NULL
, details TEXT NOT NULL DEFAULT '') STRICT;
CREATE TABLE worlds (
    id        TEXT    NOT NULL PRIMARY KEY,
    connector TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    gone      INTEGER NOT NULL -- the agent is no longer there
) STRICT;
CREATE TABLE members (
    world  TEXT    NOT NULL,
    entity TEXT    NOT NULL,
    role   TEXT    NOT NULL,
    gone   INTEGER NOT NULL,
    PRIMARY KEY (world, entity)
) STRICT, WITHOUT ROWID;
CREATE TABLE notes (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS "files" (
    run  TEXT    NOT NULL,
    n    INTEGER NOT NULL,
    type TEXT    NOT NULL,
    data BLOB    NOT NULL, name TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, n)
) STRICT;
CREATE TABLE IF NOT EXISTS "questions" (
    id       TEXT    NOT NULL PRIMARY KEY,
    run      TEXT    NOT NULL,             -- that asks
    room     TEXT    NOT NULL,
    expires  INTEGER NOT NULL,             -- 0 is withdrawn
    carrier  TEXT    NOT NULL DEFAULT '',  -- the run that carries out what was chosen; '' is not answered
    question TEXT    NOT NULL              -- all of it, as JSON
) STRICT;
INSERT INTO questions VALUES('QUESTION1','telegram/1/42#2','telegram/1/42',2082758400000000000,'','{"options":["Blue Train","Blue Train (live)"],"for":["telegram:42"],"expires":"2036-01-01T00:00:00Z","chooser":"message","id":"QUESTION1","run":"telegram/1/42#2","room":"telegram/1/42"}');
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('goose_db_version',15);
CREATE INDEX runs_open ON runs (room, turn) WHERE status = '';
CREATE INDEX memories_by_turn ON memories (room, kind, turn, seq);
CREATE UNIQUE INDEX people_one_owner ON people (owner) WHERE owner;
CREATE INDEX room_notes_by_age ON room_notes (room, kind, seq);
CREATE INDEX rooms_by_name ON rooms (name COLLATE NOCASE) WHERE name <> '';
CREATE INDEX memories_by_author ON memories (author, room);
CREATE INDEX rooms_by_world ON rooms (world) WHERE world <> '';
CREATE INDEX memories_of_run ON memories (room, turn);
CREATE TRIGGER files_go AFTER DELETE ON memories WHEN old.role = 'said' BEGIN
    DELETE FROM files WHERE run = old.room || '#' || old.turn;
END;
CREATE INDEX questions_of_run ON questions (run);
CREATE UNIQUE INDEX questions_unanswered ON questions (run) WHERE carrier = '';
CREATE INDEX questions_open ON questions (room, expires) WHERE carrier = '';
CREATE INDEX questions_by_carrier ON questions (carrier) WHERE carrier <> '';
COMMIT;
