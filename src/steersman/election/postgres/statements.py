"""What PostgreSQL executes: one statement per operation, atomic, on the database's own clock.

`clock_timestamp()` and not `now()`: a statement may have waited for the row since its transaction began.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Statements"]

#: Whoever creates the table holds this advisory lock, since CREATE TABLE IF NOT EXISTS alone fails for one of
#: two that do it at once. The number is arbitrary.
_CREATING = 7_305_804_402_566_950_774

_STATE = """holder, token, epoch,
    extract(epoch FROM expires - clock_timestamp())::double precision AS remaining_s"""


@dataclass(frozen=True, slots=True)
class Statements:
    """For the locks in one table. All take the lock's name as $1."""

    create: str
    observe: str
    acquire: str
    """$2 holder, $3 token, $4 floor, $5 duration."""
    renew: str
    """$2 token, $3 term, $4 duration. A row if it was renewed."""
    release: str
    """$2 token."""

    @classmethod
    def on(cls, table: str) -> Statements:
        """`table` may be qualified by a schema; case matters, as it does in quotes."""
        quoted = ".".join('"' + part.replace('"', '""') + '"' for part in table.split("."))
        return cls(
            create=_CREATE.format(table=quoted, lock=_CREATING),
            observe=f"SELECT {_STATE} FROM {quoted} WHERE name = $1",  # noqa: S608 (quoted above)
            acquire=_ACQUIRE.format(table=quoted, state=_STATE),
            renew=_RENEW.format(table=quoted),
            release=_RELEASE.format(table=quoted),
        )


#: epoch     the highest term ever given out; a released lock keeps it
#: token     of the leadership that has the lock; empty if it was released
#: duration  how long the last acquire or renewal was for
_CREATE = """
SELECT pg_advisory_xact_lock({lock});
CREATE TABLE IF NOT EXISTS {table} (
    name text PRIMARY KEY,
    epoch bigint NOT NULL,
    holder text NOT NULL,
    token text NOT NULL,
    duration interval NOT NULL,
    expires timestamptz NOT NULL
)
"""

#: The clock is read once, after the row is locked, so that all columns follow one decision. A lock that would
#: last longer than it was meant to (the database's clock was set back) lasts its duration from now.
_ACQUIRE = """
INSERT INTO {table} AS lock (name, epoch, holder, token, duration, expires)
VALUES ($1, $4::bigint + 1, $2, $3, $5::interval, clock_timestamp() + $5::interval)
ON CONFLICT (name) DO UPDATE SET (epoch, holder, token, duration, expires) = (
    SELECT
        greatest(lock.epoch, $4::bigint) + CASE WHEN free THEN 1 ELSE 0 END,
        CASE WHEN free THEN $2 ELSE lock.holder END,
        CASE WHEN free THEN $3 ELSE lock.token END,
        CASE WHEN free OR ours THEN $5::interval ELSE lock.duration END,
        CASE WHEN free OR ours THEN moment + $5::interval ELSE least(lock.expires, moment + lock.duration) END
    FROM (
        SELECT moment, lock.expires <= moment AS free, lock.token = $3 AS ours
        FROM (SELECT clock_timestamp() AS moment) AS clock
    ) AS found
)
RETURNING {state}
"""

_RENEW = """
UPDATE {table} SET duration = $4::interval, expires = clock_timestamp() + $4::interval
WHERE name = $1 AND token = $2 AND epoch = $3
RETURNING epoch
"""

_RELEASE = """
UPDATE {table} SET holder = '', token = '', expires = clock_timestamp() WHERE name = $1 AND token = $2
"""
