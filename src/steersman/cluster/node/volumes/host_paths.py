"""hostPath types, and subPath of volumes.

A subPath must not lead out of its volume, whatever symbolic links the pod made in it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from steersman.cluster.node.volumes.errors import VolumeProblem

__all__ = ["check_host_path", "part_of_volume", "read_part", "refuse_backsteps"]

#: type → what the path has to be, in words and by its mode.
_TYPES: Final[dict[str, tuple[str, Callable[[int], bool]]]] = {
    "Directory": ("directory", stat.S_ISDIR),
    "File": ("file", stat.S_ISREG),
    "Socket": ("socket file", stat.S_ISSOCK),
    "CharDevice": ("character device", stat.S_ISCHR),
    "BlockDevice": ("block device", stat.S_ISBLK),
}
_OR_CREATE: Final = "OrCreate"
#: So much of a file is read.
_LARGEST: Final = 1 << 20


def refuse_backsteps(path: str) -> None:
    if ".." in path.split("/"):
        raise VolumeProblem("must not contain '..'")


def check_host_path(path: str, kind: str) -> None:
    """Have the path be what the pod needs it to be; without a type a missing one becomes a folder."""
    try:
        refuse_backsteps(path)
    except VolumeProblem as problem:
        raise VolumeProblem(f"invalid HostPath `{path}`: {problem}") from problem
    wanted = kind.removesuffix(_OR_CREATE) or "Directory"
    if wanted not in _TYPES:
        raise VolumeProblem(f"{kind} is an invalid volume type")
    if not os.path.exists(path) and (not kind or kind.endswith(_OR_CREATE)):
        if wanted == "File":
            os.close(os.open(path, os.O_CREAT | os.O_RDONLY, 0o644))
        else:
            os.makedirs(path, 0o755, exist_ok=True)
    elif kind:
        _check_type(path, wanted)


def _check_type(path: str, wanted: str) -> None:
    noun, matches = _TYPES[wanted]
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        reason = f"stat {path}: {(error.strerror or str(error)).lower()}"
        raise VolumeProblem(
            f"hostPath type check failed, {path} is not a {noun}, unable to determine its type: {reason}"
        ) from error
    if not matches(mode):
        found = next((name for name, (_, is_so) in _TYPES.items() if is_so(mode)), "")
        raise VolumeProblem(f"hostPath type check failed: {path} is not a {noun}, it's a {found}")


def part_of_volume(volume: Path, part: str, *, fixed: bool) -> Path:
    """The path of a part of a volume, made as a folder if it is not there. Raises `VolumeProblem`.

    `fixed` is for volumes that pods may write to: the path then has no links left that could be turned
    elsewhere.
    """
    if part.startswith("/"):
        raise VolumeProblem(f"error SubPath `{part}` must not be an absolute path")
    try:
        refuse_backsteps(part)
    except VolumeProblem as problem:
        raise VolumeProblem(f"unable to provision SubPath `{part}`: {problem}") from problem
    base = Path(os.path.realpath(volume))
    real = _inside(base, part)
    if not real.exists():
        _make_folders(base, real.relative_to(base))
    return real if fixed else volume / part


def read_part(volume: Path, part: str) -> str:
    """The text of a file in a volume, whatever else the pod may have put at its place. Raises
    `VolumeProblem`, OSError."""
    path = _inside(Path(os.path.realpath(volume)), part)
    # A pipe must not keep the node waiting.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as stream:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise VolumeProblem(f"{part} is not a file")
        return stream.read(_LARGEST).decode(errors="surrogateescape")


def _inside(base: Path, part: str) -> Path:
    real = Path(os.path.realpath(base / part))
    if not real.is_relative_to(base):
        raise VolumeProblem(f"subPath {part} leads out of the volume")
    return real


def _make_folders(base: Path, inside: Path) -> None:
    """Make folders one after the other, each found by its parent's descriptor and never through a link."""
    mode = stat.S_IMODE(base.stat().st_mode)
    where = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for name in inside.parts:
            try:
                os.mkdir(name, mode, dir_fd=where)
                made = True
            except FileExistsError:
                made = False
            deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=where)
            os.close(where)
            where = deeper
            if made:
                os.fchmod(where, mode)
    finally:
        os.close(where)
