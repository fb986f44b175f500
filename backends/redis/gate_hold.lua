-- Closes scopes, if they are not closed for longer.
-- KEYS: the state of each. ARGV: for how long they go at half their pace after it; for how long each is closed. In ms.
for i, key in ipairs(KEYS) do
  local held, wide, left, resets = state(key)
  held = math.max(held, told + ARGV[i + 1])
  wide = math.max(wide, held + ARGV[1])
  redis.call('HSET', key, 'held', held, 'wide', wide, 'left', left, 'resets', resets)
  redis.call('PEXPIRE', key, math.ceil(math.max(wide, resets) - now) + 1)
end
return #KEYS
