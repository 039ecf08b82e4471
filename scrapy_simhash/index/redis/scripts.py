"""The Lua scripts that run in the server. Each script is atomic.

A client sends a script again if the answer was lost. The index is then as after one run, except
that sequence numbers may be skipped, and that pages begun together may be numbered in another
order. Callers treat the answer as that of the first run. Exceptions:

- `LOAD` does not count entries that an earlier run has stored.
- `SETTLE` reports a page as removed if another process has replaced its entry between the runs. The
  page is then observed again.
- `REPLACE_FIELD` returns 0 if another process has changed the field between the runs. The caller
  then repeats its change.

`OBSERVE` and `TAKE` use several slots, so they run on single servers only. In a cluster, `LOAD`
takes one entry, `SETTLE` one page, and `LOOK` groups of one shard.

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
# Upper limit for the groups that a script looks at. Lua can unpack about 8,000 values.
MAX_GROUPS = 500
# `OBSERVE` compares at most this many pairs of a page and a row, at about 2 µs each.
_MAX_COMPARED = 100
_FUNCTIONS = """
local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function number_in(key)
  return assert(tonumber(redis.call('GET', key) or 0), key .. ' is damaged: it has no number')
end

-- Returns `entries`, then the fields and values of a group's pending pages, alternating. Removes
-- pages whose lease has ended, so that a page that this call does not return is never confirmed.
local function with_pending(entries, pending)
  local found = {entries}
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

-- Returns true if `value` is the stored entry of the page in `field`.
local function is_stored(entries, field, value)
  if value == '' then return false end
  local _, _, current = find(redis.call('GET', entries) or '', string.sub(field, 9))
  return current == value
end

-- Returns what `with_pending` does for each group: KEYS from `first` to `last` are entries and
-- pending, alternating.
local function look(first, last)
  local groups, pending = {}, {}
  for at = first, last, 2 do
    groups[#groups + 1] = {redis.call('GET', KEYS[at]) or ''}
    pending[#pending + 1] = KEYS[at + 1]
  end
  -- Mostly no page is pending.
  if #pending > 0 and redis.call('EXISTS', unpack(pending)) > 0 then
    for group, key in ipairs(pending) do groups[group] = with_pending(groups[group][1], key) end
  end
  return groups
end

-- Returns the first of `count` new sequence numbers, the last admission up to which all pages are
-- marked, and the last admission.
local function begin(sequence, admitted, unmarked, count)
  local first = redis.call('INCRBY', sequence, count) - count + 1
  local oldest = redis.call('ZRANGE', unmarked, 0, 0, 'WITHSCORES')
  local last = number_in(admitted)
  return first, oldest[2] and tonumber(oldest[2]) - 1 or last, last
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

-- Gives pages the next admission numbers, and returns the last. There may be fewer rows than pages.
local function record_admissions(admitted, recent, journal, members, rows)
  local last, numbered = redis.call('INCRBY', admitted, #members), {}
  for i, member in ipairs(members) do
    numbered[2 * i - 1] = last - #members + i
    numbered[2 * i] = member
  end
  redis.call('ZADD', recent, unpack(numbered))
  -- About every 256 admissions.
  if last % 256 < #members then redis.call('ZREMRANGEBYRANK', recent, 0, -10001) end
  if #rows > 0 then redis.call('RPUSH', journal, unpack(rows)) end
  return last
end

-- Returns {1, number} if the page is admitted, {1} if it was before, {2} if it must begin again, as
-- later admissions are missing, or {3, sequence and digest of each page near or with its key}.
local function admit(admitted, recent, journal, member, since, k, judged, row)
  if redis.call('ZSCORE', recent, member) then return {1} end
  local last = number_in(admitted)
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
  local rows = row == '' and {} or {row}
  return {1, record_admissions(admitted, recent, journal, {member}, rows)}
end

-- Stores a pending page. `admitted` is '1' or '0'.
local function hold(pending, field, admitted, deadline_ms, entry)
  redis.call('HSET', pending, field, admitted .. struct.pack('>d', deadline_ms) .. entry)
end
"""
_LIBRARY = (
    f"local ROWS_AT_ONCE, MAX_COMPARED = {ROWS_AT_ONCE}, {_MAX_COMPARED}\n"
    f"local NUMBER = '>I{SEQUENCE_BYTES}'\n" + _FUNCTIONS
)


class Script:
    """A script with the library, and its SHA-1, which names it in EVALSHA."""

    def __init__(self, body: str) -> None:
        self.source = _LIBRARY + body
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


# KEYS: sequence, admitted, unmarked, journal. ARGV: rows, last. Returns what `begin` does, and then
# what `follow` does.
BEGIN = Script("""
local number, since, last = begin(KEYS[1], KEYS[2], KEYS[3], 1)
return {number, since, last, follow(KEYS[4], tonumber(ARGV[1]), ARGV[2])}
""")
# KEYS: journal. ARGV: rows, last. Returns what `follow` does.
FOLLOW = Script("return follow(KEYS[1], tonumber(ARGV[1]), ARGV[2])")
# KEYS: entries and pending, for each group. Returns what `with_pending` does, for each group.
LOOK = Script("return look(1, #KEYS)")
# Begins several pages, of which no two have the same digest or are within k. A page that has a row
# in ARGV has nothing near in the replica. It is admitted if nothing is near in later rows either,
# and the server has no page with its digest. KEYS: sequence, admitted, unmarked, journal, recent;
# entries and pending for each page; entries and pending for each group to look at. ARGV: rows,
# last, k, lease, number of pages; digest, row or '', entry without its sequence number, for each.
# Returns {first, since, rows, answers, groups}. `first`: sequence number of the first page.
# `since`: as from `begin`. `rows`: as from `follow`, and then the rows of the admitted pages.
# `answers`: for each page its sequence number if it is admitted; otherwise its stored entry or '',
# and the pending pages of its group. `groups`: as from `look`. If there are too many rows to
# compare, the last two are left out: the replica must be searched again.
OBSERVE = Script("""
local journal, start, k, count = KEYS[4], tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[5])
local first, since = begin(KEYS[1], KEYS[2], KEYS[3], count)
local rows = follow(journal, start, ARGV[2])
local later, is_row = rows[2], {}
for _, row in ipairs(later) do is_row[row] = true end
local has_all = rows[1] == start and #later < ROWS_AT_ONCE
local new, repeated = 0, {}
for at = 7, 4 + 3 * count, 3 do
  local row = ARGV[at]
  if row ~= '' then
    new = new + 1
    -- If the row is in the journal, an earlier run has admitted the page.
    repeated[row] = is_row[row] or not has_all
      and redis.call('LPOS', journal, row, 'RANK', -1, 'MAXLEN', ROWS_AT_ONCE) or nil
  end
end
if not next(repeated) and new > 0 and (not has_all or new * #later > MAX_COMPARED) then
  return {first, since, rows}
end
local function is_near_later(row)
  local words = words_of(row, 21)
  for _, other in ipairs(later) do
    -- A row of another length is damaged, and the caller notices this.
    if #other ~= #row or is_within(words, other, 21, k) then return true end
  end
  return false
end
local own_groups, groups = look(6, 5 + 2 * count), look(6 + 2 * count, #KEYS)
local deadline = now_ms() + tonumber(ARGV[4])
local answers, members, added, pending = {}, {}, {}, {}
for page = 1, count do
  local digest, row, entry = unpack(ARGV, 3 + 3 * page, 5 + 3 * page)
  local pages, number, earliest = own_groups[page], first + page - 1, nil
  local _, _, own = find(pages[1], digest)
  for at = 2, #pages, 2 do
    if string.sub(pages[at], 9, 16) == digest then
      earliest = math.min(earliest or math.huge, (struct.unpack('>I8', pages[at])))
    end
  end
  pages[1] = own
  answers[page] = pages
  if repeated[row] and earliest then
    answers[page] = earliest
  elseif row ~= '' and has_all and own == '' and not earliest and not is_near_later(row) then
    local field = struct.pack('>I8', number) .. digest
    members[#members + 1], added[#added + 1] = field .. string.sub(row, 21), row
    pending[#pending + 1] = {KEYS[5 + 2 * page], field, struct.pack(NUMBER, number) .. entry}
    answers[page] = number
  end
end
if #added > 0 then
  -- Only this may fail now, and then no page is pending.
  record_admissions(KEYS[2], KEYS[5], journal, members, added)
  for _, row in ipairs(added) do later[#later + 1] = row end
  for _, page in ipairs(pending) do hold(page[1], page[2], '1', deadline, page[3]) end
end
return {first, since, rows, answers, groups}
""")
# KEYS: pending, entries. ARGV: field, lease, entry, stored. Returns 1 if the page relies on a row,
# else 0.
HOLD = Script("""
-- A late repetition must not remove the mark.
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  hold(KEYS[1], ARGV[1], '0', now_ms() + tonumber(ARGV[2]), ARGV[3])
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
  hold(KEYS[4], ARGV[6], '1', now_ms() + tonumber(ARGV[7]), ARGV[8])
end
return answer
""")
# KEYS: pending. ARGV: field, lease. Renews the lease of a page, unless the page was removed.
RENEW = Script("""
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value then
  local deadline = now_ms() + tonumber(ARGV[2])
  hold(KEYS[1], ARGV[1], string.sub(value, 1, 1), deadline, string.sub(value, 10))
end
""")
# KEYS: entries, pending, count, for each page. ARGV: field, digest, expected value, new value, for
# each. Returns for each {1} if the new value is stored, {2} if the page was removed, {3, stored
# value} if another value is stored.
SETTLE = Script("""
local function settle(entries, pending, count, field, digest, expected, value)
  local packed = redis.call('GET', entries) or ''
  local first, last, current = find(packed, digest)
  if current == value then
    redis.call('HDEL', pending, field)
    return {1}
  end
  if redis.call('HEXISTS', pending, field) == 0 then return {2} end
  if current ~= expected then return {3, current} end
  local entry = digest .. struct.pack('>I4', #value) .. value
  if first then
    packed = string.sub(packed, 1, first - 1) .. entry .. string.sub(packed, last + 1)
  else
    redis.call('INCR', count)  -- the only write that may fail comes first
    packed = packed .. entry
  end
  redis.call('SET', entries, packed)  -- APPEND would reserve memory
  redis.call('HDEL', pending, field)
  return {1}
end
local answers = {}
for page = 0, #KEYS / 3 - 1 do
  local entries, pending, count = unpack(KEYS, 3 * page + 1, 3 * page + 3)
  answers[page + 1] = settle(entries, pending, count, unpack(ARGV, 4 * page + 1, 4 * page + 4))
end
return answers
""")
# KEYS: entries, pending, count. ARGV: digest, expected value. Returns 1 if the page has no entry
# now, 0 if its entry has another value, or an admitted page is pending.
REMOVE = Script("""
local pages = with_pending('', KEYS[2])
for at = 2, #pages, 2 do
  local is_admitted = string.sub(pages[at + 1], 1, 1) == '1'
  if is_admitted and string.sub(pages[at], 9, 16) == ARGV[1] then return 0 end
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
# Stores entries, except those whose page has one. KEYS: entries and count, for each entry.
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
