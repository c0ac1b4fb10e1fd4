"""kube-apiserver with etcd under the same load, in the same run: both processes together.

This happens where `make originals` has installed it, or `KUBE_APISERVER` names its binary; elsewhere
`reference` says what it needed on another day.
"""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.load import CONFIGMAP, FIRST, run_wrk
from benchmarks.options import Unusable
from benchmarks.process import cpu_seconds, memory_mb
from benchmarks.reference import PEER, PEER_LISTED_OBJECTS, PEER_RATES, Costs, Peer, Rates
from tests.originals.programs import find

__all__ = ["peer"]

_READY_S = 60.0
_LOOK_S = 0.02
_STOP_S = 15.0
#: A list takes ten times as long as ours.
_FEWER_LISTS = 4


def peer(folder: str, objects: int, requests: int, lists: int, list_connections: int) -> Peer:
    """What kube-apiserver needs for so many objects, requests and lists."""
    binary = os.environ.get("KUBE_APISERVER") or find("kube-apiserver")
    if binary is None:
        return Peer(PEER, PEER_RATES, PEER_LISTED_OBJECTS)
    with KubeApiserver(str(binary), Path(folder)) as server:
        created = run_wrk(server, CONFIGMAP["create"], count=objects)
        got = run_wrk(server, CONFIGMAP["get"], count=requests, existing=created.requests + FIRST - 33)
        memory = server.memory()
        fewer = max(1, lists // _FEWER_LISTS)
        listed = run_wrk(server, CONFIGMAP["list"], count=fewer, connections=list_connections)
        per_object_us = listed.server_cpu_s / listed.requests / created.requests * 1e6
        costs = Costs(created.cpu_ms, got.cpu_ms, per_object_us, memory, server.ready_s)
        return Peer(costs, Rates(created.rate, got.rate, listed.rate), created.requests, measured=True)


class KubeApiserver:
    """An etcd and a kube-apiserver of their own, on free ports."""

    def __init__(self, binary: str, folder: Path) -> None:
        installed = find("etcd")
        etcd_program = shutil.which("etcd") if installed is None else str(installed)
        if etcd_program is None:
            raise Unusable("etcd is not installed: scripts/install-servers etcd")
        self.token = secrets.token_urlsafe(32)
        self.ready_s = 0.0
        self._processes: list[subprocess.Popen[bytes]] = []
        client, peers, secure = (_free_port() for _ in range(3))
        self.url = f"https://127.0.0.1:{secure}"
        folder.mkdir()
        key = folder / "key.pem"
        key.write_bytes(_signing_key())
        tokens = folder / "tokens.csv"
        tokens.write_text(f'{self.token},admin,admin,"system:masters"\n')
        etcd = f"http://127.0.0.1:{client}"
        member = f"http://127.0.0.1:{peers}"
        self._commands = [
            [etcd_program, "--data-dir", f"{folder}/etcd", "--listen-client-urls", etcd,
             "--advertise-client-urls", etcd, "--listen-peer-urls", member,
             "--initial-advertise-peer-urls", member, "--initial-cluster", f"default={member}"],
            [binary, "--etcd-servers", etcd, "--secure-port", str(secure), "--bind-address", "127.0.0.1",
             "--endpoint-reconciler-type", "none", "--cert-dir", f"{folder}/certificates",
             "--service-account-issuer", "https://kubernetes.default.svc",
             "--service-account-key-file", str(key), "--service-account-signing-key-file", str(key),
             "--token-auth-file", str(tokens), "--authorization-mode", "Node,RBAC",
             "--service-cluster-ip-range", "10.96.0.0/16"],
        ]  # fmt: skip

    def __enter__(self) -> KubeApiserver:
        started = time.perf_counter()
        for command in self._commands:
            quiet = subprocess.DEVNULL
            self._processes.append(subprocess.Popen(command, stdout=quiet, stderr=quiet))
        try:
            while not self._is_ready():
                if time.perf_counter() - started > _READY_S:
                    raise Unusable("kube-apiserver did not start")
                time.sleep(_LOOK_S)
        except BaseException:
            self._stop()
            raise
        self.ready_s = time.perf_counter() - started
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def cpu(self) -> float:
        return sum(cpu_seconds(process.pid) for process in self._processes)

    def memory(self) -> float:
        return sum(memory_mb(process.pid) for process in self._processes)

    def _is_ready(self) -> bool:
        trusting = ssl._create_unverified_context()
        request = urllib.request.Request(
            f"{self.url}/readyz", headers={"Authorization": f"Bearer {self.token}"}
        )
        try:
            with urllib.request.urlopen(request, context=trusting, timeout=5) as answer:
                return bool(answer.status == 200)
        except (OSError, urllib.error.URLError):
            return False

    def _stop(self) -> None:
        for process in reversed(self._processes):
            process.terminate()
        for process in self._processes:
            try:
                process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _signing_key() -> bytes:
    return ec.generate_private_key(ec.SECP256R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
