-- Books one permit in every scope, or in none.
-- KEYS: of each scope its log (bookings by when they were settled; in the future if they were not) and its state.
-- ARGV: the booking; how long it counts without being settled; of each scope how many permits there are, per how long,
-- how many are left to others, within how long those may come, and 1 if the rest is taken at even times. Times in ms.
-- Returns which scope is full, from 1, and when to ask again; 0 and 0 if it is booked.
local id, lease = ARGV[1], tonumber(ARGV[2])
local poll = 50 -- retry interval while permits are in use

-- A client that misses the reply sends the same booking again. Counted twice, it would find its own permit in use, or
-- take another one, which nothing settles.
if KEYS[1] and redis.call('ZSCORE', KEYS[1], id) then
  return {0, 0}
end

-- Returns when the scope has a permit; a time that is not after now means at once.
local function opens(log, key, n, per, keep, soon, even)
  local held, wide, left, resets = state(key)
  local at = held
  if left <= 0 then
    at = math.max(at, resets)
  end
  -- A booking counts for per, and for twice as long while the scope goes at half its pace.
  redis.call('ZREMRANGEBYSCORE', log, '-inf', now - 2 * per)
  if n == 0 then
    return at
  end
  local spent = redis.call('ZRANGE', log, 0, -1, 'WITHSCORES')
  local function settled(i)
    return tonumber(spent[2 * i])
  end
  local function frees(i) -- when the i-th of the bookings, which is settled, counts no longer
    local free = settled(i) + per
    if free < wide then
      free = math.min(settled(i) + 2 * per, wide)
    end
    return free
  end
  local function freed(permits, ahead) -- when all but so many of the bookings count no longer, or so long ahead of that
    local i = #spent / 2 - permits + 1
    if i < 1 then
      return 0
    end
    if settled(i) > now + 1 then -- not settled yet: its score is the end of its lease
      return now + poll
    end
    return frees(i) - ahead
  end
  local function spread(permits) -- when the next of so many is due
    local first, last, used = nil, nil, 0
    for i = 1, #spent / 2 do
      if settled(i) > now + 1 then
        used = used + 1
      elseif frees(i) > now then
        first, last, used = first or i, i, used + 1
      end
    end
    if not first or permits <= used then
      return 0
    end
    return settled(last) + (frees(first) - soon - settled(last)) / (permits - used + 1)
  end
  at = math.max(at, freed(n - math.max(keep - 1, 0), 0)) -- one may be borrowed
  if keep > 0 then
    at = math.max(at, freed(n - keep, soon))
  end
  if even then
    at = math.max(at, spread(n - keep))
  end
  return at
end

-- All scopes are looked at before any is booked: a request needs a permit of each, and must not take some and wait.
for i = 1, #KEYS / 2 do
  local a = 5 * i - 2
  local at = opens(KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[a]), tonumber(ARGV[a + 1]), tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]),
    ARGV[a + 4] == '1')
  if at > now then
    return {i, math.ceil(at - now)}
  end
end
for i = 1, #KEYS / 2 do
  local log, key, per = KEYS[2 * i - 1], KEYS[2 * i], tonumber(ARGV[5 * i - 1])
  -- A scope without a limit of its own (n is 0) has a log too: the platform's count below is taken back once for each
  -- booking that was not used.
  redis.call('ZADD', log, told + lease, id)
  redis.call('PEXPIRE', log, math.ceil(lease + 2 * per))
  -- What the platform said is left is counted down as well, until it says it again.
  if redis.call('EXISTS', key) == 1 then
    redis.call('HINCRBY', key, 'left', -1)
  end
end
return {0, 0}
