-- The server's clock in ms: all replicas have the same. What is asked is rounded down and what is told up, so that
-- rounding never shortens a wait.
local clock = redis.call('TIME')
local exact = clock[1] * 1000 + clock[2] / 1000
local now, told = math.floor(exact), math.ceil(exact)

-- What is known of a scope: closed until held; at half its pace until wide; no more than left until resets.
local function state(key)
  local s = redis.call('HMGET', key, 'held', 'wide', 'left', 'resets')
  return tonumber(s[1] or 0), tonumber(s[2] or 0), tonumber(s[3] or 0), tonumber(s[4] or 0)
end

