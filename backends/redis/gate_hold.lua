-- Closes scopes, if they are not closed for longer.
-- KEYS: the state of each. ARGV: for how long each is closed, in ms.
for i, key in ipairs(KEYS) do
  local held, wide, left, resets = state(key)
  held = math.max(held, told + ARGV[i])
  redis.call('HSET', key, 'held', held, 'wide', wide, 'left', left, 'resets', resets)
  redis.call('PEXPIRE', key, math.ceil(math.max(held, wide, resets) - now) + 1)
end
return #KEYS
