"""`steer new`: a working operator project. `command` is the command, `project/` the files."""

from __future__ import annotations

from steersman.cli.new.command import new

__all__ = ["new"]
