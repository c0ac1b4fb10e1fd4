"""The root of a small system: a shell and a few programs of this machine, with the libraries they need."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

__all__ = ["USER", "small_root"]

#: Somebody that only the small system knows, in a group that only it knows.
USER = "worker"
_USERS = "root:x:0:0::/root:/bin/sh\nworker:x:51234:51235::/srv/worker:/bin/sh\n"
_GROUPS = "root:x:0:\nworkers:x:51235:\nhelpers:x:51236:worker\n"


def small_root(folder: Path, *programs: str) -> Path:
    """Make the root in a new folder. Its `python3` only says whose it is."""
    for name in ("sh", "id", *programs):
        _copy(folder, str(shutil.which(name)), f"bin/{name}")
    for path, text in {
        "etc/passwd": _USERS,
        "etc/group": _GROUPS,
        "etc/os-release": 'NAME="Small"\n',
        "bin/python3": "#!/bin/sh\necho the small one\n",
    }.items():
        file = folder / path
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    (folder / "bin/python3").chmod(0o755)
    return folder


def _copy(folder: Path, program: str, place: str) -> None:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
    files = {path: path for path in re.findall(r"(/\S+) \(0x", listed)}
    for source, target in {**files, program: place}.items():
        copied = folder / target.lstrip("/")
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, copied)
