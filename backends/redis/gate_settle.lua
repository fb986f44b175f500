-- Settles a booking.
-- KEYS: of each scope its log and its state; at last those of the scope that the platform spoke of, if it did.
-- ARGV: the booking; 1 if it was not used. If the platform spoke: how many more it lets in, within how long; 1 if it closed
-- the scope for that time; for how long the scope runs at half its pace after that. Times in ms.
local id, unused = ARGV[1], ARGV[2] == '1'
local booked = #KEYS / 2
if ARGV[3] then
  booked = booked - 1
end
for i = 1, booked do
  local log, key = KEYS[2 * i - 1], KEYS[2 * i]
  if not unused then
    redis.call('ZADD', log, 'XX', told, id) -- it counts from the end of the request; XX: unless it was removed meanwhile
  elseif redis.call('ZREM', log, id) == 1 and redis.call('EXISTS', key) == 1 then
    redis.call('HINCRBY', key, 'left', 1)
  end
end
if not ARGV[3] then
  return 0
end
local log, key = KEYS[#KEYS - 1], KEYS[#KEYS]
local said, after, refused, slow = tonumber(ARGV[3]), tonumber(ARGV[4]), ARGV[5] == '1', tonumber(ARGV[6])
local held, wide, left, resets = state(key)
if refused then
  held = math.max(held, told + after)
  if slow > 0 then
    wide = held + slow
  end
else
  said = said - redis.call('ZCOUNT', log, '(' .. told, '+inf') -- requests under way: the platform may or may not have counted them
  if resets > now then
    said = math.min(said, left) -- replies may overtake each other
  end
  left, resets = said, math.max(resets, told + after)
end
redis.call('HSET', key, 'held', held, 'wide', wide, 'left', left, 'resets', resets)
redis.call('PEXPIRE', key, math.ceil(math.max(held, wide, resets) - now) + 1)
return 0
