"""Violations of the Pod Security Standards, and the wording of their messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

__all__ = ["Check", "Setters", "Violation", "counted", "quoted", "security", "verb"]


class Violation(NamedTuple):
    """A violation: the short form for warnings about many pods, and the details for one."""

    reason: str
    detail: str

    def __str__(self) -> str:
        return f"{self.reason} ({self.detail})" if self.detail else self.reason


#: (metadata, spec) of a pod → what is wrong with it.
Check = Callable[[Mapping[str, Any], Mapping[str, Any]], Violation | None]


def security(container: Mapping[str, Any]) -> dict[str, Any]:
    """The security context of a container or of a pod's spec."""
    return container.get("securityContext") or {}


def quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def counted(noun: str, names: Sequence[str]) -> str:
    """`container "a"`, `containers "a", "b"`."""
    return f"{noun}{'' if len(names) == 1 else 's'} {quoted(names)}"


def verb(names: Sequence[str]) -> str:
    return "uses" if len(names) == 1 else "use"


class Setters:
    """The pod and containers that set a forbidden value, and the values."""

    def __init__(self) -> None:
        self.pod = False
        self.containers: list[str] = []
        self.values: set[str] = set()

    def __bool__(self) -> bool:
        return self.pod or bool(self.containers)

    def parts(self) -> list[str]:
        parts = ["pod"] if self.pod else []
        if self.containers:
            parts.append(counted("container", self.containers))
        return parts

    def __str__(self) -> str:
        return " and ".join(self.parts())
