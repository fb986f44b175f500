-- KEYS: the replicas. ARGV: this one; how long one counts that says nothing, in ms. Returns how many there are, and
-- 1 if this one was not among them.
local added = redis.call('ZADD', KEYS[1], now, ARGV[1])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return {redis.call('ZCARD', KEYS[1]), added}
