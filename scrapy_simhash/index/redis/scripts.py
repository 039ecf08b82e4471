"""The Lua scripts that run in the server. Each script is atomic.

Each gets the keys `layout.KEYS`; `scrapy_simhash.index.redis.layout` defines digest and attempt.
`rows` and `last` are `Replica.end` (`scrapy_simhash.index.redis.replica`). `stored` is the value of
a stored entry, or '' for none.

A client sends a script again if the answer was lost. The index is then as after one run, and the
answer that of the first, except that sequence numbers may be skipped, and if another process has
changed the page or note between the runs: `SETTLE` then reports a page as removed, which is
observed again, and `REPLACE_NOTE` returns 0, and the caller repeats its change.
"""

from __future__ import annotations

from hashlib import sha1

from scrapy_simhash.index.records import SEQUENCE_BYTES
from scrapy_simhash.index.redis.layout import (
    DIGEST_BYTES,
    FINGERPRINT_AT,
    KEYS,
    MARK_AT,
)

# Number of rows of the journal in an answer.
ROWS_AT_ONCE = 10_000
# `OBSERVE` compares at most this many pairs of a page and a row, at about 1 µs each.
_MAX_COMPARED = 10_000
_LIBRARY = f"""
local ROWS_AT_ONCE, MAX_COMPARED = {ROWS_AT_ONCE}, {_MAX_COMPARED}
local NUMBER, NUMBER_BYTES = '>I{SEQUENCE_BYTES}', {SEQUENCE_BYTES}
local ATTEMPT_AT, MARK_AT, FINGERPRINT_AT = {DIGEST_BYTES + 1}, {MARK_AT + 1}, {FINGERPRINT_AT + 1}
local {", ".join(KEYS).upper()} = unpack(KEYS)
local sub = string.sub

local function now_ms()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

-- Lets the next sequence number be this or a higher one.
local function number_from(next_sequence)
  local missing = next_sequence - 1 - (redis.call('GET', SEQUENCE) or 0)
  if missing > 0 then redis.call('INCRBY', SEQUENCE, missing) end
end

-- Stores the pending pages of a digest: a list of {{attempt, deadline, entry}}.
local function keep(digest, pages)
  if #pages == 0 then redis.call('HDEL', PENDING, digest)
  else redis.call('HSET', PENDING, digest, cmsgpack.pack(pages)) end
end

-- Returns the pending pages of a digest, with those whose lease has ended.
local function all_pages_of(digest)
  local packed = redis.call('HGET', PENDING, digest)
  return packed and cmsgpack.unpack(packed) or {{}}
end

-- Returns the pending pages of a digest. Removes those whose lease has ended, so that a page that
-- this call does not return is never confirmed.
local function pages_of(digest)
  local all, pages, now = all_pages_of(digest), {{}}, now_ms()
  for _, page in ipairs(all) do
    if page[2] >= now then pages[#pages + 1] = page end
  end
  if #pages < #all then keep(digest, pages) end
  return pages
end

-- Returns the state of a digest: {{stored, {{attempt and entry of each pending page}}, SHA-1}}, see
-- `layout.State`.
local function state_of(digest)
  local stored, pending, last = redis.call('HGET', ENTRIES, digest) or '', {{}}, ''
  for at, page in ipairs(pages_of(digest)) do pending[at], last = {{page[1], page[3]}}, page[1] end
  return {{stored, pending, redis.sha1hex(stored .. last)}}
end

-- Returns the states of the digests in ARGV from a place on.
local function states_from(first)
  local states = {{}}
  for at = first, #ARGV do states[#states + 1] = state_of(ARGV[at]) end
  return states
end
"""


class Script:
    """A script with the library, and its SHA-1, which names it in EVALSHA."""

    def __init__(self, body: str) -> None:
        self.source = _LIBRARY + body
        self.sha = sha1(self.source.encode(), usedforsecurity=False).hexdigest()


# Reads new rows of the journal, admits pages, and reads states. ARGV: rows, last, k, first sequence
# number of the crawl, lease in milliseconds, count of pages; for each page: digest, row, sequence
# number or 0, entry or '' if it does not ask for admission, expected, '1' if the journal has an
# equal row; then digests to read.
#
# A page without a sequence number gets one, and so does its entry. A server that has lost
# everything goes on with the numbers of the crawl. A page is admitted if the journal
# ends as the replica does, or goes on with few rows that are not within k (-1: no row is); and if
# some states are as `expected` (digest:8 and SHA-1 for each, see `state_of`). Pages that ask
# together were compared with each other before.
# Returns {start, rows, answers, read}. `rows`: the rows of the journal from `start` on, which is
# 0 if the journal does not begin as the replica does. `answers`: for each page {sequence number},
# and its state, if it is not admitted. `read`: states, see `state_of`.
OBSERVE = Script("""
local start, k, count = tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[6])
if start > 0 and redis.call('LINDEX', JOURNAL, start - 1) ~= ARGV[2] then start = 0 end
local rows = redis.call('LRANGE', JOURNAL, start, start + ROWS_AT_ONCE - 1)
local new_rows = #rows
local has_all = start == tonumber(ARGV[1]) and new_rows < ROWS_AT_ONCE
number_from(ARGV[4])
local bxor, band, rshift = bit.bxor, bit.band, bit.rshift

-- Returns the fingerprint in a row as words of 32 bits; nil for a row of another length.
local function words_of(row, size)
  if #row ~= size then return nil end
  local format = '>' .. string.rep('I4', (size - FINGERPRINT_AT + 1) / 4)
  return {struct.unpack(format, row, FINGERPRINT_AT)}
end

local function is_within(one, other)
  local distance = 0
  for i = 1, #one - 1 do  -- the last value is the position after the words
    local x = bxor(one[i], other[i])
    x = x - band(rshift(x, 1), 0x55555555)
    x = band(x, 0x33333333) + band(rshift(x, 2), 0x33333333)
    x = band(x + rshift(x, 4), 0x0f0f0f0f)
    x = x + rshift(x, 8)
    distance = distance + band(x + rshift(x, 16), 0x3f)
    if distance > k then return false end
  end
  return true
end

local words = {}
local function has_near(row)
  if k < 0 then return false end
  local own = words_of(row, #row)
  for at = 1, new_rows do
    words[at] = words[at] or words_of(rows[at], #row)
    -- A damaged row has another length, and the caller notices this.
    if not words[at] or is_within(own, words[at]) then return true end
  end
  return false
end

local function are_as(expected)
  for at = 1, #expected, 48 do
    local state = state_of(sub(expected, at, at + 7))
    if state[3] ~= sub(expected, at + 8, at + 47) then return false end
  end
  return true
end

local answers, deadline = {}, now_ms() + tonumber(ARGV[5])
for page = 1, count do
  local digest, row, number, entry, expected, has_row = unpack(ARGV, 6 * page + 1, 6 * page + 6)
  local pages, attempt, admitted = pages_of(digest), sub(row, ATTEMPT_AT, MARK_AT - 1), nil
  for _, one in ipairs(pages) do
    if one[1] == attempt then admitted = one[3] end  -- by an earlier run of this script
  end
  if number == '0' then
    number = admitted and struct.unpack(NUMBER, admitted) or redis.call('INCR', SEQUENCE)
    if entry ~= '' then entry = struct.pack(NUMBER, number) .. sub(entry, NUMBER_BYTES + 1) end
  end
  local is_quick = page * new_rows <= MAX_COMPARED
  if not admitted and entry ~= '' and has_all and is_quick and are_as(expected)
      and not has_near(row) then
    admitted = entry
    if has_row ~= '1' then
      redis.call('RPUSH', JOURNAL, row)
      rows[#rows + 1] = row
    end
    pages[#pages + 1] = {attempt, deadline, entry}
    keep(digest, pages)
  end
  answers[page] = {tonumber(number), not admitted and state_of(digest) or nil}
end
return {start, rows, answers, states_from(7 + 6 * count)}
""")
# Returns the states of digests. ARGV: digests.
LOOK = Script("return states_from(1)")
# Renews leases. ARGV: lease in milliseconds; digest and attempt of each page.
RENEW = Script("""
local deadline = now_ms() + tonumber(ARGV[1])
for at = 2, #ARGV, 2 do
  local pages = all_pages_of(ARGV[at])
  for _, page in ipairs(pages) do
    if page[1] == ARGV[at + 1] then page[2] = deadline end
  end
  keep(ARGV[at], pages)
end
""")
# Stores or discards pending pages. ARGV for each page: digest, attempt,
# stored, entry; '' discards the page. Returns for each page 1 if that is done, 2 if the page
# was removed because its lease had ended, or the value that is stored, if it is another one.
SETTLE = Script("""
local answers = {}
for at = 1, #ARGV, 4 do
  local digest, attempt, stored, entry = unpack(ARGV, at, at + 3)
  -- A page whose lease has ended may be stored if nobody has looked for it.
  local pages, others = all_pages_of(digest), {}
  for _, page in ipairs(pages) do
    if page[1] ~= attempt then others[#others + 1] = page end
  end
  local current, answer = redis.call('HGET', ENTRIES, digest) or '', 1
  if #others == #pages then
    if entry ~= '' and current ~= entry then answer = 2 end  -- else an earlier run has stored it
  elseif entry ~= '' and current ~= stored then
    answer = current
  else
    if entry ~= '' then redis.call('HSET', ENTRIES, digest, entry) end
    keep(digest, others)
  end
  answers[#answers + 1] = answer
end
return answers
""")
# ARGV: digest, expected value. Returns 1 if the page has no entry now, 0 if
# its entry has another value, or a page with its digest is pending.
REMOVE = Script("""
if #pages_of(ARGV[1]) > 0 then return 0 end
local current = redis.call('HGET', ENTRIES, ARGV[1])
if current and current ~= ARGV[2] then return 0 end
redis.call('HDEL', ENTRIES, ARGV[1])
return 1
""")
# Stores an entry, and removes others, without a comparison. ARGV:
# its highest sequence number, digest, row, entry; digests of the entries to remove.
WRITE = Script("""
redis.call('RPUSH', JOURNAL, ARGV[3])
redis.call('HSET', ENTRIES, ARGV[2], ARGV[4])
for at = 5, #ARGV do redis.call('HDEL', ENTRIES, ARGV[at]) end
number_from(ARGV[1] + 1)
""")
# Replaces rows of the journal. ARGV: the new row; number and old row of each.
BLANK = Script("""
for at = 2, #ARGV, 2 do
  if redis.call('LINDEX', JOURNAL, ARGV[at]) == ARGV[at + 1] then
    redis.call('LSET', JOURNAL, ARGV[at], ARGV[1])
  end
end
""")
# ARGV: name of a note, expected value, new value; '' for none. Returns 1 if it has the new one.
REPLACE_NOTE = Script("""
local current = redis.call('HGET', NOTES, ARGV[1]) or ''
if current == ARGV[3] then return 1 end
if current ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', NOTES, ARGV[1])
else redis.call('HSET', NOTES, ARGV[1], ARGV[3]) end
return 1
""")
# Returns what the server says about its memory, in lines.
MEMORY = "return redis.call('INFO', 'memory')"
