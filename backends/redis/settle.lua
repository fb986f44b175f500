-- KEYS: marks of the room. ARGV: any turn (the caller judges), life of the marks in ms.
local latest, stopped = marks(KEYS[1])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {latest, stopped}
