"""mypy as its users run it, in a process of its own: inside this one it would raise the recursion limit."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def checked(*files: Path) -> str:
    """What mypy prints of these files, with the project's own settings; nothing when all is well."""
    command = [sys.executable, "-m", "mypy", "--no-error-summary", "--config-file", "pyproject.toml"]
    answer = subprocess.run([*command, *map(str, files)], cwd=ROOT, capture_output=True, text=True)
    assert answer.stderr == ""
    return answer.stdout
