-- KEYS: marks of the room. ARGV: turn, life of the marks in ms, channel, what to announce.
local latest, stopped = marks(KEYS[1])
local turn = ARGV[1]
if later(turn, latest) and later(turn, stopped) then
  latest = turn
  redis.call('HSET', KEYS[1], 'latest', turn)
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {latest, stopped}
