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
    typer.Option(metavar="NAME", help="Work in this namespace only; can be repeated.", show_default="all"),
]
ClusterOption = Annotated[
    bool, typer.Option("--cluster", help="Start a cluster for this run, which keeps nothing.")
]
InstallOption = Annotated[
    bool,
    typer.Option(
        "--install-crds",
        "--install",
        help="Install the definitions first (always so with --cluster); otherwise you are asked.",
    ),
]
DevOption = Annotated[bool, typer.Option("--dev", help="Start again whenever the code changes.")]
ElectionOption = Annotated[
    str | None,
    typer.Option(
        metavar="lease|raft|redis|postgres",
        help="Take part in an election, for operators that declare none; one replica leads.",
        show_default="as the operator declares",
    ),
]
ElectionNameOption = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="What --ha elects the leader of.", show_default="KIND-operator"),
]
ProbesOption = Annotated[
    str, typer.Option(metavar="[HOST]:PORT", help="Where probes and metrics listen; off for nowhere.")
]
LogFormatOption = Annotated[
    LogFormat, typer.Option(help="The format of the log on standard error; auto is text on a terminal.")
]
LogLevelOption = Annotated[LogLevel, typer.Option(help="What to log.")]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Options in YAML or TOML; flags and STEERSMAN_… variables come before them."
    ),
]
