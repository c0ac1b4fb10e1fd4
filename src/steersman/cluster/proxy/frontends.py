"""The protocol between the proxy and its forwarder: frontends (addresses to listen at) and their routes.

Both processes use it. On the wire a message is a line of JSON. The forwarder first sends what it has, which
is nothing unless it has outlived another proxy:

    ← {"version": 1, "pid": 4711, "open": [frontend, …]}
    → {"number": 7, "open": [[frontend, route], …], "close": [frontend, …], "asked": [address, …]}
    ← {"number": 7, "failed": [[frontend, errno], …], "used": [address, …]}
    → {"end": true}

A frontend that is opened again gets the new route; its connections stay where they are. Those of a frontend
that is closed go on, too: `used` lists those of the `asked` addresses that still have some.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

__all__ = ["VERSION", "Backend", "Frontend", "FrontendRoute", "frontend_from_json", "route_from_json"]

#: Of the language. A forwarder that speaks another is replaced.
VERSION: Final = 1


class Backend(NamedTuple):
    """The address and port of an endpoint."""

    address: str
    port: int


class Frontend(NamedTuple):
    """The protocol, address and port that clients connect to."""

    protocol: Literal["TCP", "UDP"]
    address: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.address}]" if ":" in self.address else self.address
        return f"{host}:{self.port}/{self.protocol}"


class FrontendRoute(NamedTuple):
    """The backends of a frontend; without any, connections are refused."""

    backends: tuple[Backend, ...]
    #: For how long a client stays with its backend; 0 for not at all.
    affinity_s: int = 0
    #: Frontends of one group agree on a client's backend.
    affinity_group: str = ""
    #: Networks clients may come from; any if empty.
    sources: tuple[str, ...] = ()


def frontend_from_json(value: Any) -> Frontend:
    return Frontend(*value)


def route_from_json(value: Any) -> FrontendRoute:
    backends, affinity_s, affinity_group, sources = value
    return FrontendRoute(
        tuple(Backend(*each) for each in backends), affinity_s, affinity_group, tuple(sources)
    )
