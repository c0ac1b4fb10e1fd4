"""The folders of this machine where a user's clusters are stored."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["data_folder", "state_folder"]


def state_folder() -> Path:
    """The user's folder for what must outlive a process (XDG state folder)."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "steersman"


def data_folder(path: str | Path) -> Path:
    """A folder for what a cluster or its nodes keep, there and closed to others.

    Its path is absolute: processes that work in other folders are told of it, and volumes are in it.
    """
    folder = Path(path).absolute()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder
