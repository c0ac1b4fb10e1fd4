"""Choices that several commands offer by the same names."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

__all__ = ["AddressOption", "ContextOption", "KubeconfigOption", "LogLevel", "Output", "Where"]


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
        metavar="HOST:PORT", help="Where an operator's metrics are, instead of looking for its pods."
    ),
]
KubeconfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Whom to talk to.", show_default="KUBECONFIG, the pod's, or ~/.kube/config"
    ),
]
ContextOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The kubeconfig's context.", show_default="its current one"),
]


@dataclass(frozen=True, slots=True)
class Where:
    """Whom to talk to."""

    address: str | None
    kubeconfig: Path | None
    context: str | None
