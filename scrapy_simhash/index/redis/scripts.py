"""The Lua scripts that run in the server. Each is atomic, and harmless when it runs twice.

A command may be sent twice when its answer was lost; what a script has done before, it finds done.
Scripts build names of buckets from a declared key's hash tag, so all keys of a call lie in one slot
of a cluster; `OBSERVE` and `TAKE` join several calls and are sent to a single server alone.
"""

from __future__ import annotations

from hashlib import sha1
from typing import NamedTuple

_LIBRARY = """
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- A string, then fields and values of a group's pending pages. Those whose lease has ended are
-- removed: who reads them as gone must be able to rely on it.
local function with_pending(first, pending)
  local found = {first}
  local pages = redis.call('HGETALL', pending)
  if #pages > 0 then
    local now = now_ms()
    for at = 1, #pages, 2 do
      if struct.unpack('>d', string.sub(pages[at + 1], 2, 9)) < now then
        redis.call('HDEL', pending, pages[at])
      else
        found[#found + 1] = pages[at]
        found[#found + 1] = pages[at + 1]
      end
    end
  end
  return found
end

-- First and last byte of an entry with its head of 12 bytes, and its value.
local function find(packed, digest)
  -- Mostly it is not there, and a search is faster than the loop.
  if not string.find(packed, digest, 1, true) then return nil, nil, '' end
  local at, size = 1, #packed
  while at <= size do
    local stop = at + 11 + struct.unpack('>I4', packed, at + 8)
    if string.sub(packed, at, at + 7) == digest then
      return at, stop, string.sub(packed, at + 12, stop)
    end
    at = stop + 1
  end
  return nil, nil, ''
end

local function begin(sequence, admitted, unwritten)
  local number = redis.call('INCR', sequence)
  local oldest = redis.call('ZRANGE', unwritten, 0, 0, 'WITHSCORES')
  local last = tonumber(redis.call('GET', admitted) or 0)
  return number, oldest[2] and tonumber(oldest[2]) - 1 or last, last
end

-- Names of buckets: packed numbers of tables, 2 bytes each, with prefixes.
local function buckets(head, packed, width)
  local names, heads, step = {}, {}, width + 2
  for at = 1, #packed, step do
    local high, low = string.byte(packed, at, at + 1)
    local table_head = heads[high * 256 + low]
    if not table_head then
      table_head = head .. (high * 256 + low) .. '}'
      heads[high * 256 + low] = table_head
    end
    names[#names + 1] = table_head .. string.sub(packed, at + 2, at + 1 + width)
  end
  return names
end

-- MSET, and not APPEND, which keeps room for as much again.
local function append(head, packed, width, record)
  local names = buckets(head, packed, width)
  if #names == 0 then return end
  local values, pairs = redis.call('MGET', unpack(names)), {}
  for at, name in ipairs(names) do
    pairs[2 * at - 1] = name
    pairs[2 * at] = (values[at] or '') .. record
  end
  redis.call('MSET', unpack(pairs))
end

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

local function ones(x)
  x = x - band(rshift(x, 1), 0x55555555)
  x = band(x, 0x33333333) + band(rshift(x, 2), 0x33333333)
  x = band(x + rshift(x, 4), 0x0f0f0f0f)
  x = x + rshift(x, 8)
  return band(x + rshift(x, 16), 0x3f)
end

local function is_within(words, member, k)
  local distance, at = 0, 17
  for i = 1, #words do
    local a, b, c, d = string.byte(member, at, at + 3)
    distance = distance + ones(bxor(words[i], ((a * 256 + b) * 256 + c) * 256 + d))
    if distance > k then return false end
    at = at + 4
  end
  return true
end

-- member: sequence, digest, fingerprint. 1: admitted; 2: search again; 3: near, others follow.
local function admit(admitted, recent, member, since, k, judged)
  if redis.call('ZSCORE', recent, member) then return {1} end
  local last = tonumber(redis.call('GET', admitted) or 0)
  if last < since then return {2} end
  if last > since then
    local oldest = redis.call('ZRANGE', recent, 0, 0, 'WITHSCORES')
    if not oldest[2] or tonumber(oldest[2]) > since + 1 then return {2} end
    if k >= 0 then
      local known, words, found = {}, {}, {3}
      for at = 1, #judged, 8 do known[string.sub(judged, at, at + 7)] = true end
      for at = 17, #member, 4 do
        local a, b, c, d = string.byte(member, at, at + 3)
        words[#words + 1] = ((a * 256 + b) * 256 + c) * 256 + d
      end
      local digest = string.sub(member, 9, 16)
      for _, other in ipairs(redis.call('ZRANGEBYSCORE', recent, '(' .. since, '+inf')) do
        if not known[string.sub(other, 1, 8)]
            and (string.sub(other, 9, 16) == digest or is_within(words, other, k)) then
          found[#found + 1] = string.sub(other, 1, 16)
        end
      end
      if #found > 1 then return found end
    end
  end
  local number = redis.call('INCR', admitted)
  redis.call('ZADD', recent, number, member)
  if number % 256 == 0 then redis.call('ZREMRANGEBYRANK', recent, 0, -10001) end
  return {1, number}
end

-- Store an entry as it is, unless its page has one.
local function load(entries, count, digest, value)
  local packed = redis.call('GET', entries) or ''
  if find(packed, digest) then return 0 end
  redis.call('SET', entries, packed .. digest .. struct.pack('>I4', #value) .. value)
  redis.call('INCR', count)
  return 1
end

local function hold(pending, field, is_admitted, lease_ms, entry)
  local deadline = struct.pack('>d', now_ms() + lease_ms)
  redis.call('HSET', pending, field, is_admitted .. deadline .. entry)
end
"""


class Script(NamedTuple):
    """A script with its SHA-1, by which the server knows it."""

    source: str
    sha: str


def _script(body: str) -> Script:
    source = _LIBRARY + body
    return Script(source, sha1(source.encode(), usedforsecurity=False).hexdigest())


# KEYS: sequence, admitted, unwritten.
BEGIN = _script("return {begin(KEYS[1], KEYS[2], KEYS[3])}")
# KEYS: entries and pending pages of each group.
LOOK = _script("""
local groups = {}
for at = 1, #KEYS, 2 do
  groups[#groups + 1] = with_pending(redis.call('GET', KEYS[at]) or '', KEYS[at + 1])
end
return groups
""")
# KEYS: sequence, admitted, unwritten, entries, pending. ARGV: digest. Of the entries, only that of
# the digest is returned.
OBSERVE = _script("""
local number, since, last = begin(KEYS[1], KEYS[2], KEYS[3])
local _, _, own = find(redis.call('GET', KEYS[4]) or '', ARGV[1])
return {number, since, last, with_pending(own, KEYS[5])}
""")
# KEYS: pending. ARGV: field, lease, entry.
HOLD = _script("hold(KEYS[1], ARGV[1], '0', tonumber(ARGV[2]), ARGV[3])")
# KEYS: admitted, recent, unwritten. ARGV: member, since, k, judged.
ADMIT = _script("""
local answer = admit(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4])
if answer[2] and answer[1] == 1 then redis.call('ZADD', KEYS[3], answer[2], ARGV[1]) end
return answer
""")
# KEYS: any of a table. ARGV: head, buckets, width, record.
APPEND = _script("append(ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4])")
# KEYS: pending. ARGV: field.
MARK = _script("""
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then redis.call('HSET', KEYS[1], ARGV[1], '1' .. string.sub(value, 2)) end
""")
# KEYS: admitted, recent, pending. ARGV: member, since, k, judged, field, lease, entry, then as
# APPEND.
TAKE = _script("""
local answer = admit(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4])
if answer[2] and answer[1] == 1 then
  hold(KEYS[3], ARGV[5], '1', tonumber(ARGV[6]), ARGV[7])
  append(ARGV[8], ARGV[9], tonumber(ARGV[10]), ARGV[11])
end
return answer
""")
# KEYS: pending. ARGV: lease, fields. Returns how many of them are still there.
RENEW = _script("""
local deadline, kept = struct.pack('>d', now_ms() + tonumber(ARGV[1])), 0
for at = 2, #ARGV do
  local value = redis.call('HGET', KEYS[1], ARGV[at])
  if value then
    kept = kept + 1
    value = string.sub(value, 1, 1) .. deadline .. string.sub(value, 10)
    redis.call('HSET', KEYS[1], ARGV[at], value)
  end
end
return kept
""")
# KEYS: entries, pending, count. ARGV: field, digest, expected value, new value.
# 1: stored; 2: the lease has ended; 3: another value is stored, which follows.
SETTLE = _script("""
local packed = redis.call('GET', KEYS[1]) or ''
local first, last, current = find(packed, ARGV[2])
if current == ARGV[4] then
  redis.call('HDEL', KEYS[2], ARGV[1])
  return {1}
end
if redis.call('HEXISTS', KEYS[2], ARGV[1]) == 0 then return {2} end
if current ~= ARGV[3] then return {3, current} end
local entry = ARGV[2] .. struct.pack('>I4', #ARGV[4]) .. ARGV[4]
if first then
  packed = string.sub(packed, 1, first - 1) .. entry .. string.sub(packed, last + 1)
else
  packed = packed .. entry
  redis.call('INCR', KEYS[3])
end
redis.call('SET', KEYS[1], packed)
redis.call('HDEL', KEYS[2], ARGV[1])
return {1}
""")
# KEYS: entries, pending, count. ARGV: digest, expected value. Returns 1 if it was removed.
REMOVE = _script("""
local now = now_ms()
local pages = redis.call('HGETALL', KEYS[2])
for at = 1, #pages, 2 do
  if string.sub(pages[at], 9, 16) == ARGV[1] and string.byte(pages[at + 1]) == 49
      and struct.unpack('>d', string.sub(pages[at + 1], 2, 9)) >= now then
    return 0
  end
end
local packed = redis.call('GET', KEYS[1]) or ''
local first, last, current = find(packed, ARGV[1])
if not first or current ~= ARGV[2] then return 0 end
packed = string.sub(packed, 1, first - 1) .. string.sub(packed, last + 1)
if packed == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], packed) end
redis.call('DECR', KEYS[3])
return 1
""")
# KEYS: bucket. ARGV: expected value, new value. Returns 1 if it was replaced.
REPLACE = _script("""
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
if ARGV[2] == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], ARGV[2]) end
return 1
""")
# KEYS: hash. ARGV: field, expected value, new value; empty for none. Returns 1 if it has that now.
REPLACE_FIELD = _script("""
local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current == ARGV[3] then return 1 end
if current ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1
""")
# KEYS: entries, count. ARGV: digest, value. Returns 1 if its page had no entry.
LOAD = _script("return load(KEYS[1], KEYS[2], ARGV[1], ARGV[2])")
# KEYS: entries and count of each entry. ARGV: head, width; digest, value, buckets, record of each.
# Returns how many pages had no entry.
LOAD_MANY = _script("""
local loaded = 0
for at = 1, #KEYS / 2 do
  local first = 4 * at - 1
  append(ARGV[1], ARGV[first + 2], tonumber(ARGV[2]), ARGV[first + 3])
  loaded = loaded + load(KEYS[2 * at - 1], KEYS[2 * at], ARGV[first], ARGV[first + 1])
end
return loaded
""")
