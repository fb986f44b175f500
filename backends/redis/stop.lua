-- KEYS: marks of the room. ARGV: last turn to stop, life of the marks in ms, channel, what to announce.
local latest, stopped = marks(KEYS[1])
local turn = ARGV[1]
if later(turn, stopped) then
  stopped = turn
  redis.call('HSET', KEYS[1], 'stopped', turn)
  redis.call('PUBLISH', ARGV[3], ARGV[4])
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {latest, stopped}
