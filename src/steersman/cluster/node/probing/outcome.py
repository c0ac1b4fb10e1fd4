"""The result of one probe attempt, and the container it probed."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from steersman.objects.fields import quote
from steersman.objects.kinds.types.core_v1 import Container, Pod

__all__ = ["OUTPUT_BYTES", "ProbeErrored", "ProbeOutcome", "ProbeTarget", "failure", "port_number", "success"]

#: So much of what a container says is looked at.
OUTPUT_BYTES: Final = 10 << 10


class ProbeErrored(Exception):
    """The probe could not be run, which says nothing about the container."""


class ProbeOutcome(NamedTuple):
    """The result of an attempt (success, warning or failure) with its output."""

    result: Literal["success", "warning", "failure"]
    output: str = ""


class ProbeTarget(NamedTuple):
    """A container to be probed."""

    pod: Pod
    container: Container
    container_id: str
    #: The pod's address.
    ip: str


def success(output: str = "") -> ProbeOutcome:
    return ProbeOutcome("success", output)


def failure(output: str) -> ProbeOutcome:
    return ProbeOutcome("failure", output)


def port_number(container: Container, port: int | str) -> int:
    """A port as a number, be it given so or by the name it has in the container. Raises `ProbeErrored`."""
    if isinstance(port, str):
        named = (one["containerPort"] for one in container.get("ports") or () if one.get("name") == port)
        number = next(named, None)
        if number is None:
            raise ProbeErrored(f"port {quote(port)} not found")
        port = int(number)
    if not 0 < port < 1 << 16:
        raise ProbeErrored(f"invalid port number: {port}")
    return port
