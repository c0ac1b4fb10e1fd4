"""Commands run by somebody who is not root."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

__all__ = ["as_normal_user"]

_NOBODY = 65534


def as_normal_user(home: Path) -> list[str]:
    """A command that runs another without any of root's rights but to read: the interpreter may be where
    only root can."""
    if os.getuid() != 0:
        return []
    if not shutil.which("setpriv"):
        pytest.skip("there is no setpriv on the PATH")
    os.chown(home, _NOBODY, _NOBODY)
    user = [f"--reuid={_NOBODY}", f"--regid={_NOBODY}", "--clear-groups"]
    rights = [f"--{kind}={less}+dac_read_search" for kind, less in
              (("inh-caps", "-all,"), ("bounding-set", "-all,"), ("ambient-caps", ""))]  # fmt: skip
    return ["setpriv", *user, *rights, "env", f"HOME={home}", f"XDG_STATE_HOME={home}"]
