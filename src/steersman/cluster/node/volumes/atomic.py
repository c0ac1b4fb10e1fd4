"""The atomic writer: updates all files of a ConfigMap, Secret, downward API or projected volume at once.

    volume/key          → ..data/key
    volume/..data       → ..2026_11_16_13_00_00.1234
    volume/..2026_11_16_13_00_00.1234/key

The real files are in a folder of their own; what changes is the one link `..data`, by a rename. Same names
and order as Kubernetes, which programs that watch their files rely on.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NamedTuple

__all__ = ["BadPath", "File", "write_files"]

_DATA: Final = "..data"
_NEW_DATA: Final = "..data_tmp"
_LONGEST_PATH: Final = 4096
_LONGEST_NAME: Final = 255


class BadPath(ValueError):
    """A path that is not allowed in a volume."""


class File(NamedTuple):
    """The content and mode of a file."""

    data: bytes
    mode: int
    #: None: whoever writes it.
    owner: int | None = None


def write_files(
    folder: Path, files: Mapping[str, File], *, now: float, publish: Callable[[Path], None] | None = None
) -> bool:
    """Have exactly these files (relative path → file) in the volume; returns whether anything was written.

    `publish` may change who owns what is about to be seen.
    """
    wanted = {_checked(path): file for path, file in files.items()}
    data = folder / _DATA
    old = folder / os.readlink(data) if data.is_symlink() else None
    there = _paths(old) if old is not None else set()
    gone = there - {parent for path in wanted for parent in _with_parents(path)}
    written = old is None or bool(gone) or any(_differs(old / path, file) for path, file in wanted.items())
    if written:
        new = _write(folder, wanted, now)
        if publish is not None:
            publish(new)
        _swap(folder, new)
    for name in {path.partition("/")[0] for path in wanted}:
        if not (folder / name).is_symlink():
            (folder / name).symlink_to(f"{_DATA}/{name}")
    for name in {path for path in gone if "/" not in path}:
        (folder / name).unlink(missing_ok=True)
    if written and old is not None:
        shutil.rmtree(old, ignore_errors=True)
    return written


def _checked(path: str) -> str:
    if not path:
        raise BadPath('invalid path: must not be empty: ""')
    if path.startswith("/"):
        raise BadPath(f"invalid path: must be relative path: {path}")
    if len(path) > _LONGEST_PATH:
        raise BadPath(f"invalid path: must be less than or equal to {_LONGEST_PATH} characters")
    names = path.split("/")
    if ".." in names:
        raise BadPath(f"invalid path: must not contain '..': {path}")
    if any(len(name) > _LONGEST_NAME for name in names):
        raise BadPath(f"invalid path: filenames must be less than or equal to {_LONGEST_NAME} characters")
    if names[0].startswith(".."):
        raise BadPath(f"invalid path: must not start with '..': {path}")
    return os.path.normpath(path)


def _paths(folder: Path) -> set[str]:
    """Everything in a folder, files and folders, however deep."""
    return {
        os.path.relpath(os.path.join(where, name), folder)
        for where, folders, names in os.walk(folder)
        for name in (*folders, *names)
    }


def _with_parents(path: str) -> list[str]:
    names = path.split("/")
    return ["/".join(names[:count]) for count in range(1, len(names) + 1)]


def _differs(path: Path, file: File) -> bool:
    try:
        return path.read_bytes() != file.data
    except OSError:
        return True


def _write(folder: Path, files: Mapping[str, File], now: float) -> Path:
    stamp = datetime.fromtimestamp(now, UTC).strftime("..%Y_%m_%d_%H_%M_%S.")
    new = Path(tempfile.mkdtemp(prefix=stamp, dir=folder))
    # Whatever the process' umask is, the modes are those that were asked for.
    new.chmod(0o755)
    for path, file in files.items():
        target = new / path
        for parent in reversed(target.relative_to(new).parents[:-1]):
            (new / parent).mkdir(exist_ok=True)
            (new / parent).chmod(0o755)
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.data)
        if file.owner is not None:
            os.chown(target, file.owner, -1)
        target.chmod(file.mode)
    return new


def _swap(folder: Path, new: Path) -> None:
    link = folder / _NEW_DATA
    link.unlink(missing_ok=True)
    link.symlink_to(new.name)
    link.rename(folder / _DATA)
