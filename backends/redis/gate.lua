-- Books one permit in every scope, or in none.
-- KEYS: of each scope its log (bookings by when they were settled; in the future if they were not) and its state.
-- ARGV: the booking; how long it counts without being settled; of each scope how many permits there are, per how long,
-- how many are left to others, and within how long those may come. Times in ms.
-- Returns which scope is full, from 1, and when to ask again; 0 and 0 if it is booked.
local id, lease = ARGV[1], tonumber(ARGV[2])
local poll = 50 -- until somebody settles

local function opens(log, key, n, per, keep, soon)
  local held, wide, left, resets = state(key)
  local at = held
  if left <= 0 then
    at = math.max(at, resets)
  end
  if n == 0 then
    return at
  end
  redis.call('ZREMRANGEBYSCORE', log, '-inf', now - 2 * per)
  local spent = redis.call('ZRANGE', log, 0, -1, 'WITHSCORES')
  local function freed(permits) -- when all but so many of the bookings count no longer
    local i = #spent / 2 - permits
    if i < 0 then
      return 0
    end
    local settled = tonumber(spent[2 * i + 2])
    if settled > now + 1 then
      return now + poll + soon
    end
    local free = settled + per
    if free < wide then
      free = math.min(settled + 2 * per, wide)
    end
    return free
  end
  at = math.max(at, freed(n))
  if keep > 0 then
    at = math.max(at, freed(n - keep) - soon)
  end
  return at
end

for i = 1, #KEYS / 2 do
  local a = 4 * i - 1
  local at = opens(KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]))
  if at > now then
    return {i, math.ceil(at - now)}
  end
end
for i = 1, #KEYS / 2 do
  local log, key, n, per = KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[4 * i - 1]), tonumber(ARGV[4 * i])
  if n > 0 then
    redis.call('ZADD', log, told + lease, id)
    redis.call('PEXPIRE', log, math.ceil(lease + 2 * per))
  end
  if redis.call('EXISTS', key) == 1 then
    redis.call('HINCRBY', key, 'left', -1)
  end
end
return {0, 0}
