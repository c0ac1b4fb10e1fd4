"""The files in a node's folder that record sandboxes and containers, so that a restarted agent finds them.

    pods/<uid>/sandbox.json
    pods/<uid>/logs/<container>/<attempt>.log
    pods/<uid>/containers/<id>/container.json     how it was made
                               state.json         written by the keeper: when it started, how it ended

Files are replaced, never changed. They survive processes; nothing is synced, since no container survives
the machine.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from steersman.cluster.node.folder_removal import remove_tree
from steersman.objects.kinds.types.core_v1 import ResourceRequirements

__all__ = ["ContainerRecord", "Records", "SandboxRecord", "StateRecord"]

T = TypeVar("T", bound=msgspec.Struct)


class SandboxRecord(msgspec.Struct, frozen=True):
    """The file of a pod sandbox."""

    id: str
    uid: str
    namespace: str
    name: str
    attempt: int
    created_at: float
    ready: bool = True
    ips: tuple[str, ...] = ()
    host_network: bool = False


class ContainerRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """The file of a container."""

    id: str
    sandbox_id: str
    name: str
    attempt: int
    image: str
    image_ref: str
    created_at: float
    stop_signal: int = 15
    fall_back_to_logs: bool = False
    tty: bool = False
    stdin_once: bool = False
    ports: tuple[int, ...] = ()
    #: Paths of mounts that are links: commands that name them are changed.
    links: tuple[str, ...] = ()
    #: Requests and limits; None: not known, since somebody wrote this who did not say.
    resources: ResourceRequirements | None = None
    #: Why it could not be started, and when.
    problem: str = ""
    failed_at: float = 0.0


class StateRecord(msgspec.Struct, frozen=True):
    """The file in which the keeper records the state of a container."""

    id: str
    state: str
    pid: int = 0
    group: str = ""
    started: float = 0.0
    finished: float = 0.0
    code: int = 0
    oom: bool = False


class Records:
    """Reads and writes the files."""

    def __init__(self, folder: Path) -> None:
        self._pods = folder / "pods"
        self._pods.mkdir(parents=True, exist_ok=True, mode=0o750)

    def pod_folder(self, uid: str) -> Path:
        return self._pods / uid

    def container_folder(self, uid: str, container_id: str) -> Path:
        return self._pods / uid / "containers" / container_id

    def log_path(self, uid: str, record: ContainerRecord) -> Path:
        return self._pods / uid / "logs" / record.name / f"{record.attempt}.log"

    def keep_sandbox(self, record: SandboxRecord) -> None:
        folder = self._pods / record.uid
        folder.mkdir(exist_ok=True, mode=0o750)
        _replace(folder / "sandbox.json", record)

    def make_container(self, uid: str, record: ContainerRecord) -> None:
        """A new container's folders."""
        self.container_folder(uid, record.id).mkdir(parents=True, mode=0o755)
        self.log_path(uid, record).parent.mkdir(parents=True, exist_ok=True, mode=0o750)
        self.keep_container(uid, record)

    def keep_container(self, uid: str, record: ContainerRecord) -> None:
        _replace(self.container_folder(uid, record.id) / "container.json", record)

    def remove_container(self, uid: str, record: ContainerRecord) -> None:
        remove_tree(self.container_folder(uid, record.id))
        log = self.log_path(uid, record)
        for path in log.parent.glob(f"{log.name}*"):
            path.unlink(missing_ok=True)

    def remove_pod(self, uid: str) -> None:
        """Everything that is the engine's; volumes are somebody else's."""
        folder = self._pods / uid
        for name in ("containers", "logs"):
            remove_tree(folder / name)
        (folder / "sandbox.json").unlink(missing_ok=True)
        try:
            folder.rmdir()
        except OSError:
            return

    def remove_everything(self, uid: str) -> None:
        remove_tree(self._pods / uid)

    def uids(self) -> list[str]:
        """Pods that have a folder."""
        with os.scandir(self._pods) as entries:
            return [entry.name for entry in entries if entry.is_dir()]

    def sandbox(self, uid: str) -> SandboxRecord | None:
        return _read(self._pods / uid / "sandbox.json", SandboxRecord)

    def containers(self, uid: str) -> Iterator[tuple[ContainerRecord, StateRecord | None]]:
        """A pod's containers as they were made, and what the keeper last said of them."""
        folder = self._pods / uid / "containers"
        try:
            names = os.listdir(folder)
        except FileNotFoundError:
            return
        for name in names:
            record = _read(folder / name / "container.json", ContainerRecord)
            if record is not None:
                yield record, _read(folder / name / "state.json", StateRecord)


def _replace(path: Path, record: msgspec.Struct) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(msgspec.json.encode(record))
    os.replace(fresh, path)


def _read(path: Path, kind: type[T]) -> T | None:
    try:
        return msgspec.json.decode(path.read_bytes(), type=kind)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
