"""The `steer` command. Each command lives in its own module and imports what it needs when it runs."""

from __future__ import annotations

from steersman.cli.entry import main

__all__ = ["main"]
