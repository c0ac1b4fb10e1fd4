"""What Redis executes: one Lua script per operation, atomic, on Redis' own clock.

The lock is one hash without an expiry of its own, so that the term outlives every leadership:

    epoch     the highest term ever given out
    holder    who has the lock, for people
    token     of the leadership that has it; empty if it was released
    until     when it is free, in milliseconds of Redis' clock
    duration  how long the last acquire or renewal was for, in milliseconds
"""

from __future__ import annotations

__all__ = ["ACQUIRE", "OBSERVE", "RELEASE", "RENEW"]

_READ = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local lock = redis.call('HMGET', KEYS[1], 'epoch', 'holder', 'token', 'until', 'duration')
local epoch, holder, token = tonumber(lock[1] or 0), lock[2] or '', lock[3] or ''
local free_at, duration = tonumber(lock[4] or 0), tonumber(lock[5] or 0)
"""

_WRITE = """
redis.call('HSET', KEYS[1], 'epoch', string.format('%.0f', epoch), 'holder', holder, 'token', token,
           'until', string.format('%.0f', free_at), 'duration', string.format('%.0f', duration))
"""

_ANSWER = """
return {holder, token, epoch, free_at - now}
"""

OBSERVE = _READ + _ANSWER

#: holder, token, floor, duration. A lock that would last longer than it was meant to (Redis' clock was set
#: back) lasts its duration from now.
ACQUIRE = (
    _READ
    + """
epoch = math.max(epoch, tonumber(ARGV[3]))
if free_at <= now then
    epoch, holder, token = epoch + 1, ARGV[1], ARGV[2]
end
if token == ARGV[2] then
    duration = tonumber(ARGV[4])
    free_at = now + duration
else
    free_at = math.min(free_at, now + duration)
end
"""
    + _WRITE
    + _ANSWER
)

#: token, term, duration
RENEW = (
    _READ
    + """
if token ~= ARGV[1] or epoch ~= tonumber(ARGV[2]) then
    return 0
end
duration = tonumber(ARGV[3])
free_at = now + duration
"""
    + _WRITE
    + """
return 1
"""
)

#: token
RELEASE = (
    _READ
    + """
if token ~= ARGV[1] then
    return 0
end
holder, token, free_at = '', '', 0
"""
    + _WRITE
    + """
return 1
"""
)
