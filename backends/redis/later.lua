-- Turns are decimal strings without leading zeros: as numbers they would be rounded above 2^53.
local function later(a, b)
  if #a ~= #b then
    return #a > #b
  end
  return a > b
end

-- The marks of a room; 0 stands for none.
local function marks(key)
  local m = redis.call('HMGET', key, 'latest', 'stopped')
  return m[1] or '0', m[2] or '0'
end

