"""What becomes of other processes.

One that has ended stays in the list as a zombie until its parent asks about it. Where the machine's first process
does not do that (a container's often does not), orphans stay there for ever.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["has_ended"]


def has_ended(pid: int) -> bool:
    try:
        return "\nState:\tZ" in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return True
