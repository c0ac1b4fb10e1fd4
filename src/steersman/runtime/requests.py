"""What a reconcile is given and what it gives back. Values only; `controller` does the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from steersman.runtime.keys import Key

__all__ = ["Outcome", "Request", "Result"]


class Request(NamedTuple):
    """Look after this object. It says nothing about what changed: compare what is with what should be."""

    key: Key
    reasons: tuple[str, ...] = ()
    """Why now: `added`, `resync`, `Deployment shop/web modified`, `retry`, …"""
    attempt: int = 1
    """1 unless the last ones failed."""
    reconcile_id: str = ""
    """As in the logs."""

    @property
    def namespace(self) -> str:
        return self.key.namespace

    @property
    def name(self) -> str:
        return self.key.name


@dataclass(frozen=True, slots=True)
class Result:
    """When to come back: `Result.done()`, `Result.requeue(30)`, or `Result.requeue()` with growing waits."""

    after_s: float | None = None
    backoff: bool = False

    _DONE: ClassVar[Result]

    @classmethod
    def done(cls) -> Result:
        """Nothing more to do until something changes."""
        return cls._DONE

    @classmethod
    def requeue(cls, after_s: float | None = None) -> Result:
        if after_s is not None and after_s < 0:
            raise ValueError("after_s must not be negative")
        return cls(after_s, backoff=after_s is None)


Result._DONE = Result()


class Outcome(NamedTuple):
    """How a reconcile ended, for whoever looks on."""

    result: Literal["success", "error", "requeue", "requeue_after"]
    error: BaseException | None
    seconds: float
    again_after_s: float | None
    """When it will be tried or looked at again by itself; None if not."""
