"""The certificates between members: files that may change while the node runs.

Both sides show a certificate of the same CA, and each looks at the other's names: a certificate that the CA
gave to something else does not make it a member.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from steersman.raft.errors import SettingsError

__all__ = ["Pems", "TlsFiles", "names_match"]


@dataclass(frozen=True, slots=True)
class Pems:
    ca: bytes
    cert: bytes
    key: bytes


@dataclass(frozen=True, slots=True)
class TlsFiles:
    ca: Path
    cert: Path
    key: Path

    @classmethod
    def folder(cls, path: Path | str) -> TlsFiles:
        """As cert-manager and `kubectl create secret tls` name them."""
        folder = Path(path)
        return cls(folder / "ca.crt", folder / "tls.crt", folder / "tls.key")

    def read(self) -> Pems:
        try:
            return Pems(self.ca.read_bytes(), self.cert.read_bytes(), self.key.read_bytes())
        except OSError as error:
            raise SettingsError(
                f"cannot read the certificate file {error.filename}: {error.strerror}"
            ) from error

    def stamp(self) -> tuple[tuple[int, int, int], ...]:
        """Changes when a file does. A Secret's volume swaps a link, which changes the inode behind it."""
        stamps = []
        for path in (self.ca, self.cert, self.key):
            try:
                stat = path.stat()
            except OSError:
                stamps.append((0, 0, 0))
            else:
                stamps.append((stat.st_ino, stat.st_mtime_ns, stat.st_size))
        return tuple(stamps)


def names_match(certified: Iterable[str], name: str) -> bool:
    """Whether one of a certificate's names is this one; `*.` stands for one label."""
    wanted = name.lower().rstrip(".")
    _, _, parent = wanted.partition(".")
    return any(
        pattern == wanted or (bool(parent) and pattern == f"*.{parent}")
        for pattern in (certified_name.lower().rstrip(".") for certified_name in certified)
    )
