"""Requests without a connection, for the parts that only look at them."""

from __future__ import annotations

from typing import Any, cast

from steersman.http import Connection, Headers, Request

__all__ = ["ask"]


def ask(target: str, method: str = "GET", **headers: str) -> Request:
    """A request as a handler gets it; header names are given with underscores."""
    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    connection = Connection(("127.0.0.1", 1), None)
    return Request(method, target, Headers(raw), connection, cast(Any, None), http11=True, keep_alive=True)
