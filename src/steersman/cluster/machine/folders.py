"""Where on this machine a user's clusters keep things."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["state_folder"]


def state_folder() -> Path:
    """The user's folder for what must outlive a process (XDG state folder)."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "steersman"
