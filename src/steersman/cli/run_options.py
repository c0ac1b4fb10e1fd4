"""The options of `steer run`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from steersman.cli.options import LogLevel

__all__ = [
    "ClusterOption",
    "ConfigOption",
    "DevOption",
    "ElectionNameOption",
    "ElectionOption",
    "InstallOption",
    "LogFormat",
    "LogFormatOption",
    "LogLevelOption",
    "NamespacesOption",
    "ProbesOption",
]  # fmt: skip


class LogFormat(StrEnum):
    AUTO = "auto"
    TEXT = "text"
    JSON = "json"


NamespacesOption = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME", help="Watch this namespace only; can be repeated.", show_default="all"),
]
ClusterOption = Annotated[bool, typer.Option("--cluster", help="Start a temporary cluster for this run.")]
InstallOption = Annotated[
    bool,
    typer.Option(
        "--install-crds",
        "--install",
        help="Install the CustomResourceDefinitions first, without asking (implied by --cluster).",
    ),
]
DevOption = Annotated[bool, typer.Option("--dev", help="Restart whenever the code changes.")]
ElectionOption = Annotated[
    str | None,
    typer.Option(
        metavar="lease|raft|redis|postgres",
        help="Enable leader election for operators that do not declare it.",
        show_default="as the operator declares",
    ),
]
ElectionNameOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="The name of the lock that --ha uses.", show_default="KIND-operator"),
]
ProbesOption = Annotated[
    str,
    typer.Option(
        metavar="[HOST]:PORT", help="The address of the health probes and metrics; off disables them."
    ),
]
LogFormatOption = Annotated[
    LogFormat, typer.Option(help="The log format; auto is text on a terminal, else JSON.")
]
LogLevelOption = Annotated[LogLevel, typer.Option(help="The lowest level of messages to log.")]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="A YAML or TOML file with options; flags and STEERSMAN_… variables override it."
    ),
]
