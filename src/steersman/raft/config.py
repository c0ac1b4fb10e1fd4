"""A node's settings, written as a chain:

    NodeConfig("my-cluster").service_name("my-operator-headless").namespace("default")
        .storage("rocksdb", "/data/raft").tls("/etc/raft-tls")

Every step returns a new value. What is not said is guessed as a pod of a StatefulSet would expect: the
node's number is the pod's ordinal. Plaintext is refused except on loopback, unless `insecure()` asks for it.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

from steersman.raft.core import Config
from steersman.raft.discovery import (
    Discovery,
    HeadlessService,
    StaticPeers,
    node_id_from_hostname,
    split_hostname,
)
from steersman.raft.errors import SettingsError
from steersman.raft.state_machine import Located
from steersman.raft.storage import MemoryStorage, Storage
from steersman.raft.transport.tls import TlsFiles

__all__ = ["DEFAULT_PORT", "NodeConfig", "NodeSettings"]

DEFAULT_PORT = 7100


@dataclass(frozen=True, slots=True)
class NodeSettings:
    """What the chain has said so far."""

    cluster: str
    node_id: int | None = None
    service: str = ""
    namespace: str = "default"
    stateful_set: str = ""
    peers: Mapping[int, Located] = field(default_factory=dict)
    #: Empty: RocksDB was not asked for, the log is in memory.
    folder: Path | None = None
    tls: TlsFiles | None = None
    insecure: bool = False
    listen: str = ""
    #: HOST:PORT of the probes; empty for none.
    http: str = ""
    #: Found a cluster without having heard from every peer.
    bootstrap: bool = False
    #: The member's number is filled in.
    core: Config = field(
        default_factory=lambda: Config(
            id=1, heartbeat_s=0.1, election_min_s=0.22, election_max_s=0.32, lease_s=0.2
        )
    )


class NodeConfig:
    def __init__(self, cluster: str, settings: NodeSettings | None = None) -> None:
        """`cluster` is what the nodes of one cluster have in common."""
        if not cluster:
            raise SettingsError("a Raft cluster needs a name")
        self.settings = settings or NodeSettings(cluster)

    def _with(self, **changes: Any) -> Self:
        return type(self)(self.settings.cluster, replace(self.settings, **changes))

    # The chain

    def node_id(self, node_id: int) -> Self:
        """This node's number, from 0; by default the ordinal in the host's name."""
        if not 0 <= node_id < 1 << 15:
            raise SettingsError(f"a node's number is at least 0 and less than 32768, not {node_id}")
        return self._with(node_id=node_id)

    def service_name(self, service: str, *, stateful_set: str = "") -> Self:
        """The headless Service of the nodes' StatefulSet, whose name is by default the pod's without its
        ordinal."""
        return self._with(service=service, stateful_set=stateful_set)

    def namespace(self, namespace: str) -> Self:
        return self._with(namespace=namespace)

    def peers(self, peers: Mapping[int, str]) -> Self:
        """All nodes, this one included: number → HOST:PORT, or NAME=HOST:PORT with the certificate's name."""
        return self._with(peers={node_id: _located(peer) for node_id, peer in peers.items()})

    def storage(self, kind: str, path: Path | str | None = None) -> Self:
        """`memory`, or `rocksdb` with a folder."""
        if kind == "memory":
            return self._with(folder=None)
        if kind != "rocksdb":
            raise SettingsError(f"there is no storage {kind!r}: it is memory or rocksdb")
        if path is None:
            raise SettingsError("rocksdb needs a folder: storage('rocksdb', path)")
        return self._with(folder=Path(path))

    def tls(
        self,
        folder: Path | str | None = None,
        *,
        ca: Path | str = "",
        cert: Path | str = "",
        key: Path | str = "",
    ) -> Self:
        """Certificates of both ends: a folder with ca.crt, tls.crt and tls.key, or three files."""
        if folder is not None:
            return self._with(tls=TlsFiles.folder(folder))
        if not (ca and cert and key):
            raise SettingsError("tls needs a folder, or ca, cert and key")
        return self._with(tls=TlsFiles(Path(ca), Path(cert), Path(key)))

    def insecure(self) -> Self:
        """Plaintext between the nodes, also beyond loopback."""
        return self._with(insecure=True)

    def listen(self, address: str) -> Self:
        """HOST:PORT to listen on; by default the port that peers use, on all interfaces or on loopback."""
        return self._with(listen=address)

    def http(self, address: str) -> Self:
        """HOST:PORT of /health, /ready, /leader and /metrics."""
        return self._with(http=address)

    def bootstrap(self) -> Self:
        """Let node 0 found the cluster though peers do not answer. If they have one, there will be two."""
        return self._with(bootstrap=True)

    def timing(self, *, heartbeat_s: float, election_min_s: float, election_max_s: float) -> Self:
        """All nodes should have the same. The lease is nine tenths of `election_min_s`."""
        core = Config(
            id=1,
            heartbeat_s=heartbeat_s,
            election_min_s=election_min_s,
            election_max_s=election_max_s,
            lease_s=0.9 * election_min_s,
        )
        return self._with(core=core)

    # What it amounts to

    @property
    def node(self) -> int:
        node_id = self.settings.node_id
        return node_id_from_hostname() if node_id is None else node_id

    @property
    def located(self) -> Located:
        """Where the others find this node."""
        located = self.discovery().locate(self.node)
        if located is None:
            raise SettingsError(f"peers does not list node {self.node}")
        return located

    def discovery(self) -> Discovery:
        settings = self.settings
        if settings.peers:
            return StaticPeers(settings.peers)
        if not settings.service:
            return StaticPeers({self.node: _located(settings.listen or f"127.0.0.1:{DEFAULT_PORT}")})
        return HeadlessService(self.stateful_set, settings.service, settings.namespace, DEFAULT_PORT)

    @property
    def stateful_set(self) -> str:
        """Whose pod this is."""
        hostname = os.environ.get("POD_NAME") or socket.gethostname()
        return self.settings.stateful_set or split_hostname(hostname)[0]

    def listen_address(self) -> str:
        """Refuses what would be plaintext on a network that others are on."""
        settings = self.settings
        host, _, port = self.located.address.rpartition(":")
        address = settings.listen or f"{host if _loopback(host) else '[::]'}:{port}"
        if settings.tls is None and not settings.insecure and not _loopback(address.rpartition(":")[0]):
            raise SettingsError(
                f"Raft on {address} needs certificates: tls(folder), or insecure() to do without"
            )
        return address

    def core(self, member: int) -> Config:
        return replace(self.settings.core, id=member)

    def open_storage(self) -> Storage:
        folder = self.settings.folder
        if folder is None:
            return MemoryStorage()
        try:
            from steersman.raft.storage.rocks import RocksStorage
        except ModuleNotFoundError as error:
            raise SettingsError("storage in RocksDB needs `pip install 'steersman[raft]'`") from error
        return RocksStorage(folder)


def _located(peer: str) -> Located:
    name, equals, address = peer.rpartition("=")
    host, _, port = address.rpartition(":")
    if not host or not port.isdigit():
        raise SettingsError(f"the peer {peer!r} is none: expected HOST:PORT or NAME=HOST:PORT")
    return Located(name if equals else host.strip("[]"), address)


def _loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
