"""The original etcd, kube-apiserver, kube-controller-manager and kube-scheduler, running in a folder.

    with original_cluster(controllers=True) as cluster:
        cluster.url, cluster.token, cluster.ca, cluster.kubeconfig

Everything listens on loopback at free ports and ends with the block; nothing is kept.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from steersman.http.certificates import Authority
from tests.originals.programs import find
from tests.support.ports import free_port
from tests.support.waiting import soon

__all__ = ["OriginalCluster", "original_cluster", "original_parts"]

_ADMIN_TOKEN: Final = "the-admin-of-a-test"
_NAMES: Final = ("127.0.0.1", "localhost", "kubernetes.default", "kubernetes.default.svc")
#: Nothing that the API server sends to a service leaves this machine.
_SERVICES: Final = "127.150.0.0/24"
_DEADLINE_S: Final = 90.0
_LOOK_S: Final = 0.05


@dataclass(frozen=True, slots=True)
class OriginalCluster:
    folder: Path
    url: str
    token: str
    #: Vouches for its certificate and for those of clients.
    authority: Authority

    @property
    def ca(self) -> bytes:
        return self.authority.pem

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    def get(self, path: str, accept: str = "application/json") -> Any:
        """The body of an answer that must be one."""
        code, body = self.ask("GET", path, accept=accept)
        assert code == 200, body
        return body

    def ask(
        self,
        method: str,
        path: str,
        body: Any = None,
        accept: str = "application/json",
    ) -> tuple[int, Any]:
        """The code of an answer, and its JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {
            "Authorization": f"Bearer {self.token}", "Content-Type": "application/json", "Accept": accept
        }  # fmt: skip
        request = urllib.request.Request(self.url + path, method=method, data=data, headers=headers)
        context = ssl.create_default_context(cadata=self.ca.decode())
        try:
            with urllib.request.urlopen(request, context=context, timeout=30) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")


@contextmanager
def original_cluster(
    *,
    controllers: bool = False,
    scheduler: bool = False,
    token: str | None = None,
    port: int = 0,
    services: str = _SERVICES,
    options: Sequence[str] = (),
) -> Iterator[OriginalCluster]:
    """`token` is the admin's; `options` are kube-apiserver's."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="steer-original-")))
        etcd = _start_etcd(stack, folder)
        cluster = _start_api_server(stack, folder, etcd, token or _ADMIN_TOKEN, port or free_port(), options)
        key = folder / "accounts.key"
        if controllers:
            _start_controllers(stack, folder, cluster.kubeconfig, folder / "ca.crt", key)
        if scheduler:
            _start_scheduler(stack, folder, cluster.kubeconfig)
        yield cluster


def _start(stack: ExitStack, folder: Path, name: str, arguments: Sequence[str]) -> subprocess.Popen[bytes]:
    program = find(name)
    assert program is not None, f"{name} is not installed (make originals)"
    log = stack.enter_context((folder / f"{name}.log").open("wb"))
    process = subprocess.Popen(
        [str(program), *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
    )
    stack.callback(_stop, process)
    return process


def _stop(process: subprocess.Popen[bytes]) -> None:
    # Nothing is kept, so nothing has to be put in order.
    process.kill()
    process.wait()


def _start_etcd(stack: ExitStack, folder: Path) -> str:
    client, peer = f"http://127.0.0.1:{free_port()}", f"http://127.0.0.1:{free_port()}"
    process = _start(stack, folder, "etcd", [
        f"--data-dir={folder / 'etcd'}", f"--listen-client-urls={client}", f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}", f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}", "--unsafe-no-fsync", "--log-level=warn",
    ])  # fmt: skip
    _wait(process, folder / "etcd.log", lambda: _answers(f"{client}/health"))
    return client


def _start_api_server(
    stack: ExitStack, folder: Path, etcd: str, token: str, port: int, options: Sequence[str]
) -> OriginalCluster:
    authority = Authority.make()
    pair = authority.issue("kube-apiserver", names=_NAMES, server=True)
    files = {"ca.crt": authority.pem, "server.crt": pair.certificate, "server.key": pair.key}
    for name, content in files.items():
        (folder / name).write_bytes(content)
    (folder / "tokens.csv").write_text(f'{token},admin,admin-uid,"system:masters"\n')
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    plain = serialization.NoEncryption()
    form = serialization.PrivateFormat.TraditionalOpenSSL
    (folder / "accounts.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    process = _start(stack, folder, "kube-apiserver", [
        f"--etcd-servers={etcd}", f"--secure-port={port}", f"--tls-cert-file={folder / 'server.crt'}",
        f"--tls-private-key-file={folder / 'server.key'}", f"--client-ca-file={folder / 'ca.crt'}",
        "--bind-address=127.0.0.1", "--advertise-address=127.0.0.1",
        f"--token-auth-file={folder / 'tokens.csv'}", f"--cert-dir={folder}",
        "--authorization-mode=Node,RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={folder / 'accounts.key'}",
        f"--service-account-signing-key-file={folder / 'accounts.key'}",
        "--endpoint-reconciler-type=none", *options,
    ])  # fmt: skip
    cluster = OriginalCluster(folder, f"https://127.0.0.1:{port}", token, authority)
    context = ssl.create_default_context(cadata=authority.pem.decode())
    # The namespace is made by the server itself, a moment after it is ready.
    for path in ("/readyz", "/api/v1/namespaces/default"):
        _wait(
            process,
            folder / "kube-apiserver.log",
            partial(_answers, cluster.url + path, context, token),
        )
    _write_kubeconfig(cluster)
    return cluster


@contextmanager
def original_parts(folder: Path, kubeconfig: Path, authority: bytes) -> Iterator[None]:
    """kube-controller-manager and kube-scheduler, for an API server that is there. They sign no tokens."""
    with ExitStack() as stack:
        ca = folder / "ca.crt"
        ca.write_bytes(authority)
        _start_controllers(stack, folder, kubeconfig, ca, None)
        _start_scheduler(stack, folder, kubeconfig)
        yield


def _start_controllers(
    stack: ExitStack, folder: Path, kubeconfig: Path, ca: Path, accounts_key: Path | None
) -> None:
    keys = [] if accounts_key is None else [f"--service-account-private-key-file={accounts_key}"]
    _start(stack, folder, "kube-controller-manager", [
        f"--kubeconfig={kubeconfig}", "--leader-elect=false", f"--secure-port={free_port()}",
        "--bind-address=127.0.0.1", f"--cert-dir={folder / 'controllers'}",
        "--use-service-account-credentials", f"--root-ca-file={ca}", *keys,
    ])  # fmt: skip


def _start_scheduler(stack: ExitStack, folder: Path, kubeconfig: Path) -> None:
    _start(stack, folder, "kube-scheduler", [
        f"--kubeconfig={kubeconfig}", "--leader-elect=false", f"--secure-port={free_port()}",
        "--bind-address=127.0.0.1",
    ])  # fmt: skip


def _write_kubeconfig(cluster: OriginalCluster) -> None:
    authority = str(cluster.folder / "ca.crt")
    cluster.kubeconfig.write_text(json.dumps({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": "it", "cluster": {"server": cluster.url, "certificate-authority": authority}}
        ],
        "users": [{"name": "admin", "user": {"token": cluster.token}}],
        "contexts": [{"name": "it", "context": {"cluster": "it", "user": "admin"}}],
        "current-context": "it",
    }))  # fmt: skip


def _wait(process: subprocess.Popen[bytes], log: Path, is_up: Any) -> None:
    def answers() -> bool:
        assert process.poll() is None, _why(log)
        return bool(is_up())

    soon(answers, _DEADLINE_S, lambda _: _why(log), every_s=_LOOK_S)


def _why(log: Path) -> str:
    return f"it did not start:\n{log.read_text(errors='replace')[-3000:]}"


def _answers(url: str, context: ssl.SSLContext | None = None, token: str = "") -> bool:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(
            urllib.request.Request(url, headers=headers), timeout=5, context=context
        ) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False
