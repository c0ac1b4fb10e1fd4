"""Choices that several commands offer by the same names."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from steersman.cli.failure import CommandFailed

__all__ = [
    "AddressOption",
    "ContextOption",
    "KubeconfigOption",
    "LogLevel",
    "Output",
    "Where",
    "check_service_cidr",
]


class Output(StrEnum):
    TEXT = "text"
    JSON = "json"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


AddressOption = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="The metrics address of an operator, instead of looking up its pods."
    ),
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="The kubeconfig to use.", show_default="KUBECONFIG, the pod's, or ~/.kube/config"
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The kubeconfig context to use.", show_default="its current one"),
]


@dataclass(frozen=True, slots=True)
class Where:
    """Whom to talk to."""

    address: str | None
    kubeconfig: Path | None
    context: str | None


def check_service_cidr(cidr: str) -> None:
    """Raises CommandFailed for a range that services cannot have."""
    try:
        network = ipaddress.ip_network(cidr)
    except ValueError as error:
        raise CommandFailed(f"--service-cidr: {error}", 2) from None
    if network.version == 6 and network.prefixlen < 108:
        raise CommandFailed(f"--service-cidr: {cidr} must be /108 or smaller", 2)
    if network.num_addresses < 8 or network.prefixlen < 8:
        allowed = "/8 and /29" if network.version == 4 else "/108 and /125"
        raise CommandFailed(f"--service-cidr: {cidr} must be between {allowed}", 2)
