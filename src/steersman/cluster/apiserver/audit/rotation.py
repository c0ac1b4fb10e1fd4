"""Rotation of the audit log file by size, and deletion of old files. Used by one thread.

audit.log                            the one written to
audit-2026-11-16T07-38-19.123.log    put aside at that moment (UTC)
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

__all__ = ["STANDARD_ROTATION", "RotatingFile", "Rotation"]

_DAY_S = 86400.0
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}")


@dataclass(frozen=True, slots=True)
class Rotation:
    #: A file this large is put aside before the next write; 0: never.
    max_bytes: int = 100 << 20
    #: Files put aside that are kept, and for how long; 0: all, for ever.
    max_backups: int = 10
    max_age_days: int = 0


STANDARD_ROTATION = Rotation()


class RotatingFile:
    def __init__(
        self, path: Path, rotation: Rotation = STANDARD_ROTATION, now: Callable[[], float] = time.time
    ) -> None:
        """Opens the file, appending to what is there. Raises OSError."""
        self._path = path
        self._rotation = rotation
        self._now = now
        self._fd = -1
        self._size = 0
        path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        self._forget_old()

    def _open(self) -> None:
        # Readable by its owner only: it contains who did what.
        self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self._size = os.fstat(self._fd).st_size

    def write(self, data: bytes) -> None:
        """Append whole lines. Raises OSError; what was written of `data` then is unknown."""
        limit = self._rotation.max_bytes
        if self._fd < 0:
            self._open()
        elif limit and self._size and self._size + len(data) > limit:
            self._put_aside()
        view = memoryview(data)
        while view:
            view = view[os.write(self._fd, view) :]
        self._size += len(data)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _put_aside(self) -> None:
        self.close()
        path, when = self._path, self._now()
        while (aside := path.with_name(f"{path.stem}-{_moment(when)}{path.suffix}")).exists():
            when += 0.001
        path.rename(aside)
        self._open()
        self._forget_old()

    def _forget_old(self) -> None:
        path, rotation = self._path, self._rotation
        start, end = f"{path.stem}-", path.suffix
        aside = sorted(
            each
            for each in path.parent.iterdir()
            if each.name.startswith(start)
            and each.name.endswith(end)
            and _MOMENT.fullmatch(each.name[len(start) : len(each.name) - len(end)])
        )
        too_old = aside[: -rotation.max_backups] if rotation.max_backups else []
        if rotation.max_age_days:
            oldest = start + _moment(self._now() - rotation.max_age_days * _DAY_S)
            too_old += [each for each in aside if each.name < oldest and each not in too_old]
        for each in too_old:
            each.unlink(missing_ok=True)


def _moment(when: float) -> str:
    return datetime.fromtimestamp(when, UTC).strftime("%Y-%m-%dT%H-%M-%S.%f")[:-3]
