"""The Lua scripts that run in the server. Each script is atomic.

A client sends a script again if the answer was lost. The index is then as after one run, except
that a sequence number may be skipped. Callers treat the answer as that of the first run. But `LOAD`
counts no entry that an earlier run has stored, and `SETTLE` takes a page for removed if another
process has replaced its entry between the runs: the page is then observed again.

`OBSERVE` and `TAKE` use several slots, so they run on single servers only. In a cluster, `LOAD`
takes one entry.

Most KEYS are those of `OrderKeys` and `Layout.group_keys`. In ARGV, `member` is an admission. It is
compared with the admissions after the number `since`, except those in `judged` (8 bytes of sequence
each); with none if `k` is -1. `row` is a row of the journal, or '' for none. `field` and `entry`
are a pending page; `lease` is in milliseconds. `stored` is the stored entry with the same page key
and fingerprint, on whose row the page relies; or ''. `rows` and `last` are the end of a replica
(`scrapy_simhash.index.redis.replica.End`).
"""

from __future__ import annotations

from hashlib import sha1

from scrapy_simhash.index.records import SEQUENCE_BYTES

# Number of rows of the journal in an answer.
ROWS_AT_ONCE = 10_000
_FUNCTIONS = """
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Returns `first`, then the fields and values of a group's pending pages. Removes the pages whose
-- lease has ended, so that a page which this call does not return can never be confirmed.
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

-- Returns the first and last byte of an entry with its head of 12 bytes, and its value, or ''.
local function find(packed, digest)
  -- Most digests are not there, and this search is faster than the loop.
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

-- Returns true if this is the value of the stored entry of a pending page's key.
local function is_stored(entries, field, value)
  if value == '' then return false end
  local _, _, current = find(redis.call('GET', entries) or '', string.sub(field, 9))
  return current == value
end

-- Returns what `with_pending` does for each group: KEYS from `first` on are entries and pending.
local function look(first)
  local groups = {}
  for at = first, #KEYS, 2 do
    groups[#groups + 1] = with_pending(redis.call('GET', KEYS[at]) or '', KEYS[at + 1])
  end
  return groups
end

-- Returns a new sequence number, the last admission up to which all pages are marked, and the last
-- admission.
local function begin(sequence, admitted, unmarked)
  local number = redis.call('INCR', sequence)
  local oldest = redis.call('ZRANGE', unmarked, 0, 0, 'WITHSCORES')
  local last = tonumber(redis.call('GET', admitted) or 0)
  return number, oldest[2] and tonumber(oldest[2]) - 1 or last, last
end

-- Returns {rows, up to ROWS_AT_ONCE rows of the journal after them}. `rows` is 0 instead if the
-- journal does not have `last` there, so that the replica must be emptied.
local function follow(journal, rows, last)
  if rows > 0 and redis.call('LINDEX', journal, rows - 1) ~= last then rows = 0 end
  return {rows, redis.call('LRANGE', journal, rows, rows + ROWS_AT_ONCE - 1)}
end

local band, bxor, rshift = bit.band, bit.bxor, bit.rshift

-- Returns the number of bits that are set.
local function ones(x)
  x = x - band(rshift(x, 1), 0x55555555)
  x = band(x, 0x33333333) + band(rshift(x, 2), 0x33333333)
  x = band(x + rshift(x, 4), 0x0f0f0f0f)
  x = x + rshift(x, 8)
  return band(x + rshift(x, 16), 0x3f)
end

-- Returns the fingerprint in a value, from byte `at` on, as words of 32 bits.
local function words_of(value, at)
  local words = {}
  for first = at, #value, 4 do
    local a, b, c, d = string.byte(value, first, first + 3)
    words[#words + 1] = ((a * 256 + b) * 256 + c) * 256 + d
  end
  return words
end

-- Returns true if the fingerprint in a value, from byte `at` on, is within k of the words.
local function is_within(words, value, at, k)
  local distance = 0
  for i = 1, #words do
    local a, b, c, d = string.byte(value, at, at + 3)
    distance = distance + ones(bxor(words[i], ((a * 256 + b) * 256 + c) * 256 + d))
    if distance > k then return false end
    at = at + 4
  end
  return true
end

-- Gives a page the next admission number, and returns it.
local function record_admission(admitted, recent, journal, member, row)
  local number = redis.call('INCR', admitted)
  redis.call('ZADD', recent, number, member)
  if number % 256 == 0 then redis.call('ZREMRANGEBYRANK', recent, 0, -10001) end
  if row ~= '' then redis.call('RPUSH', journal, row) end
  return number
end

-- Returns {1, number} if the page is admitted, {1} if it was before, {2} if it must begin again, as
-- later admissions are missing, or {3, sequence and digest of each page near or with its key}.
local function admit(admitted, recent, journal, member, since, k, judged, row)
  if redis.call('ZSCORE', recent, member) then return {1} end
  local last = tonumber(redis.call('GET', admitted) or 0)
  if last < since then return {2} end
  if last > since then
    local oldest = redis.call('ZRANGE', recent, 0, 0, 'WITHSCORES')
    if not oldest[2] or tonumber(oldest[2]) > since + 1 then return {2} end
    if k >= 0 then
      local is_judged, words, near = {}, words_of(member, 17), {3}
      for at = 1, #judged, 8 do is_judged[string.sub(judged, at, at + 7)] = true end
      local digest = string.sub(member, 9, 16)
      for _, other in ipairs(redis.call('ZRANGEBYSCORE', recent, '(' .. since, '+inf')) do
        if not is_judged[string.sub(other, 1, 8)]
            and (string.sub(other, 9, 16) == digest or is_within(words, other, 17, k)) then
          near[#near + 1] = string.sub(other, 1, 16)
        end
      end
      if #near > 1 then return near end
    end
  end
  return {1, record_admission(admitted, recent, journal, member, row)}
end

-- Stores a pending page. `admitted` is '1' or '0'.
local function hold(pending, field, admitted, lease_ms, entry)
  local deadline = struct.pack('>d', now_ms() + lease_ms)
  redis.call('HSET', pending, field, admitted .. deadline .. entry)
end
"""
_LIBRARY = f"local ROWS_AT_ONCE, NUMBER = {ROWS_AT_ONCE}, '>I{SEQUENCE_BYTES}'\n" + _FUNCTIONS


class Script:
    """A script with the library, and its SHA-1, which names it in EVALSHA."""

    def __init__(self, body: str) -> None:
        self.source = _LIBRARY + body
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


# KEYS: sequence, admitted, unmarked, journal. ARGV: rows, last. Returns what `begin` does, and then
# what `follow` does.
BEGIN = Script("""
local number, since, last = begin(KEYS[1], KEYS[2], KEYS[3])
return {number, since, last, follow(KEYS[4], tonumber(ARGV[1]), ARGV[2])}
""")
# KEYS: journal. ARGV: rows, last. Returns what `follow` does.
FOLLOW = Script("return follow(KEYS[1], tonumber(ARGV[1]), ARGV[2])")
# KEYS: entries and pending, for each group. Returns what `with_pending` does, for each group.
LOOK = Script("return look(1)")
# BEGIN, and LOOK at the entry of a digest, and at groups. The optional arguments, from k on, say
# that no page is near in the replica. If none is near in later rows, and the server has no page
# with the digest, the page is admitted. KEYS: sequence, admitted, unmarked, journal, recent,
# entries, pending; entries and pending for each group. ARGV: rows, last, digest; k, row, lease,
# entry without its sequence number. Returns what `begin`, `follow`, `with_pending`
# and `look` do, and then 1 if the page is admitted.
OBSERVE = Script("""
local digest, row = ARGV[3], ARGV[5]
local number, since, last = begin(KEYS[1], KEYS[2], KEYS[3])
local _, _, own = find(redis.call('GET', KEYS[6]) or '', digest)
local rows = follow(KEYS[4], tonumber(ARGV[1]), ARGV[2])
local pages = with_pending(own, KEYS[7])
local answer = {number, since, last, rows, pages, look(8)}
if not row then return answer end
local earliest = nil
for at = 2, #pages, 2 do
  if string.sub(pages[at], 9, 16) == digest then
    earliest = math.min(earliest or math.huge, (struct.unpack('>I8', pages[at])))
  end
end
if earliest then
  if redis.call('LPOS', KEYS[4], row, 'RANK', -1, 'MAXLEN', ROWS_AT_ONCE) then
    answer[1], answer[7] = earliest, 1  -- an earlier run has admitted the page
  end
  return answer
end
if own ~= '' or rows[1] ~= tonumber(ARGV[1]) then return answer end
if #rows[2] >= math.min(ROWS_AT_ONCE, 100) then return answer end  -- too many to compare
local words = words_of(row, 13)
for _, other in ipairs(rows[2]) do
  if #other ~= #row then return answer end  -- it is damaged, and the caller notices this
  if is_within(words, other, 13, tonumber(ARGV[4])) then return answer end
end
local field = struct.pack('>I8', number) .. digest
record_admission(KEYS[2], KEYS[5], KEYS[4], field .. string.sub(row, 13), row)
hold(KEYS[7], field, '1', tonumber(ARGV[6]), struct.pack(NUMBER, number) .. ARGV[7])
answer[7] = 1
return answer
""")
# KEYS: pending, entries. ARGV: field, lease, entry, stored. Returns 1 if the page relies on a row,
# else 0.
HOLD = Script("""
-- A late repetition must not remove the mark.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  hold(KEYS[1], ARGV[1], '0', tonumber(ARGV[2]), ARGV[3])
end
return is_stored(KEYS[2], ARGV[1], ARGV[4]) and 1 or 0
""")
# KEYS: admitted, recent, journal, unmarked. ARGV: member, since, k, judged, row.
ADMIT = Script("""
local since, k = tonumber(ARGV[2]), tonumber(ARGV[3])
local answer = admit(KEYS[1], KEYS[2], KEYS[3], ARGV[1], since, k, ARGV[4], ARGV[5])
if answer[2] and answer[1] == 1 then redis.call('ZADD', KEYS[4], answer[2], ARGV[1]) end
return answer
""")
# Marks a pending page as admitted. KEYS: pending. ARGV: field.
MARK = Script("""
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then redis.call('HSET', KEYS[1], ARGV[1], '1' .. string.sub(value, 2)) end
""")
# HOLD, ADMIT and MARK in one; no row is added if the page relies on one. KEYS: admitted, recent,
# journal, pending, entries. ARGV: member, since, k, judged, row, field, lease, entry, stored.
TAKE = Script("""
local since, k = tonumber(ARGV[2]), tonumber(ARGV[3])
local row = is_stored(KEYS[5], ARGV[6], ARGV[9]) and '' or ARGV[5]
local answer = admit(KEYS[1], KEYS[2], KEYS[3], ARGV[1], since, k, ARGV[4], row)
if answer[2] and answer[1] == 1 then
  hold(KEYS[4], ARGV[6], '1', tonumber(ARGV[7]), ARGV[8])
end
return answer
""")
# KEYS: pending. ARGV: field, lease. Renews the lease of a page, unless the page was removed.
RENEW = Script("""
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then
  hold(KEYS[1], ARGV[1], string.sub(value, 1, 1), tonumber(ARGV[2]), string.sub(value, 10))
end
""")
# KEYS: entries, pending, count. ARGV: field, digest, expected value, new value. Returns {1} if the
# new value is stored, {2} if the page was removed, {3, stored value} if another value is stored.
SETTLE = Script("""
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
# KEYS: entries, pending, count. ARGV: digest, expected value. Returns 1 if the page has no entry
# now, 0 if its entry has another value, or an admitted page is pending.
REMOVE = Script("""
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
if not first then return 1 end
if current ~= ARGV[2] then return 0 end
packed = string.sub(packed, 1, first - 1) .. string.sub(packed, last + 1)
if packed == '' then redis.call('DEL', KEYS[1]) else redis.call('SET', KEYS[1], packed) end
redis.call('DECR', KEYS[3])
return 1
""")
# Appends rows to a list that the server deletes after a time. KEYS: list. ARGV: number of its rows,
# time in seconds, rows.
APPEND_ROWS = Script("""
if redis.call('LLEN', KEYS[1]) == tonumber(ARGV[1]) then
  for at = 3, #ARGV do redis.call('RPUSH', KEYS[1], ARGV[at]) end
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
""")
# Replaces the first rows of the journal by those of another list. KEYS: journal, the list, which
# begins with a row ''. ARGV: number of rows to replace, the last of them. Returns 0 if the journal
# has changed there, else 1.
REPLACE_ROWS = Script("""
local count = tonumber(ARGV[1])
if redis.call('EXISTS', KEYS[2]) == 0 then return 1 end  -- an earlier run has replaced them
if redis.call('LINDEX', KEYS[1], count - 1) ~= ARGV[2] then return 0 end
for _, row in ipairs(redis.call('LRANGE', KEYS[1], count, -1)) do
  redis.call('RPUSH', KEYS[2], row)
end
redis.call('LPOP', KEYS[2])
redis.call('DEL', KEYS[1])
if redis.call('EXISTS', KEYS[2]) == 1 then
  redis.call('RENAME', KEYS[2], KEYS[1])
  redis.call('PERSIST', KEYS[1])
end
return 1
""")
# KEYS: hash. ARGV: field, expected value, new value; '' for none. Returns 1 if it has the new one.
REPLACE_FIELD = Script("""
local current = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if current == ARGV[3] then return 1 end
if current ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1
""")
# Stores entries; those whose page has one are left out. KEYS: entries and count, for each entry.
# ARGV: digest and value for each. Returns the number of stored entries.
LOAD = Script("""
local loaded = 0
for at = 1, #KEYS, 2 do
  local digest, value = ARGV[at], ARGV[at + 1]
  local packed = redis.call('GET', KEYS[at]) or ''
  if not find(packed, digest) then
    redis.call('SET', KEYS[at], packed .. digest .. struct.pack('>I4', #value) .. value)
    redis.call('INCR', KEYS[at + 1])
    loaded = loaded + 1
  end
end
return loaded
""")
