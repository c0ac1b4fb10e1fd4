"""What containers have written, whole or as they write."""

from __future__ import annotations

from typing import TypedDict

from steersman.client.targets import Query

__all__ = ["LogOptions", "log_query"]


class LogOptions(TypedDict, total=False):
    """Which lines."""

    container: str
    """Needed if the pod has several."""
    previous: bool
    """Those of the container's last run, before it was restarted."""
    tail: int
    """Only the last so many."""
    since_s: int
    """Only those of the last so many seconds."""
    since_time: str
    """Only those after this time (RFC 3339)."""
    timestamps: bool
    """Each with the time it was written."""
    limit_bytes: int


#: Options and the API's names for them.
_NAMES = {
    "container": "container",
    "previous": "previous",
    "tail": "tailLines",
    "since_s": "sinceSeconds",
    "since_time": "sinceTime",
    "timestamps": "timestamps",
    "limit_bytes": "limitBytes",
}


def log_query(options: LogOptions, *, follow: bool) -> Query:
    query: dict[str, str | int | None] = {"follow": follow}
    for option, name in _NAMES.items():
        value = options.get(option)
        assert value is None or isinstance(value, str | int)
        # The last 0 lines are none; leaving the parameter out would be all.
        query[name] = "0" if value == 0 and value is not False else value
    return query
