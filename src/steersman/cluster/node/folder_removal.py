"""Deletes folders that programs of pods have written to, whatever permissions they set."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

__all__ = ["remove_tree"]


def remove_tree(folder: Path) -> None:
    """Remove a folder with everything in it, as far as that can be done. Blocks."""
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        return
    # There may be folders that not even their owner can look into: opened before they are walked into.
    folder.chmod(0o700)
    for where, folders, _ in os.walk(folder):
        for path in (Path(where) / name for name in folders):
            if not path.is_symlink():
                path.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
