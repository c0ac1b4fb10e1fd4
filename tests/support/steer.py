"""A real `steer up` as a child process, and a plain HTTPS client for what no Kubernetes client shows.

Used by the end-to-end and integration tests. Nothing here knows what the tests are about.
"""

from __future__ import annotations

import base64
import http.client
import json
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

__all__ = ["DEADLINE_S", "STEER", "Answer", "Api", "Steer", "refused", "running"]

#: The command installed beside the interpreter that runs the tests.
STEER = Path(sys.executable).with_name("steer")
#: Nothing takes this long; what does hangs, and is killed.
DEADLINE_S = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


class Api:
    """One request per connection: who asks differs from call to call."""

    def __init__(self, url: str, authority: str, token: str = "") -> None:
        self.address = urlsplit(url)
        self.authority = authority
        self.token = token

    def tls(self, certificate: tuple[Path, Path] | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cadata=self.authority)
        if certificate:
            context.load_cert_chain(*certificate)
        return context

    def connect(self, certificate: tuple[Path, Path] | None = None) -> http.client.HTTPSConnection:
        host, port = self.address.hostname, self.address.port
        assert host
        return http.client.HTTPSConnection(host, port, timeout=DEADLINE_S, context=self.tls(certificate))

    def request(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        token: str | None = None,
        content_type: str = "application/json",
        certificate: tuple[Path, Path] | None = None,
    ) -> Answer:
        """`token` is the admin's unless given; an empty one sends none."""
        headers = {"Accept": "application/json"}
        token = self.token if token is None else token
        if token:
            headers["Authorization"] = f"Bearer {token}"
        data = None
        if body is not None:
            headers["Content-Type"] = content_type
            data = json.dumps(body)
        connection = self.connect(certificate)
        try:
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read().decode())
        finally:
            connection.close()

    def get(self, path: str, **options: Any) -> Answer:
        return self.request("GET", path, **options)

    def post(self, path: str, body: Any, **options: Any) -> Answer:
        return self.request("POST", path, body, **options)


class Steer:
    """A started server. `ready` is its ready line as it came."""

    def __init__(self, process: subprocess.Popen[str], ready: str, errors: Any) -> None:
        self.process = process
        self.ready = ready
        self._errors = errors

    @property
    def announced(self) -> dict[str, Any]:
        """The ready line of `--output json`."""
        announced: dict[str, Any] = json.loads(self.ready)
        return announced

    @property
    def kubeconfig(self) -> Path:
        return Path(self.announced["kubeconfig"])

    @property
    def api(self) -> Api:
        """The API as the kubeconfig's user."""
        config = yaml.safe_load(self.kubeconfig.read_text())
        cluster, user = config["clusters"][0]["cluster"], config["users"][0]["user"]
        authority = base64.b64decode(cluster["certificate-authority-data"], validate=True).decode()
        return Api(cluster["server"], authority, user["token"])

    @property
    def errors(self) -> str:
        """What it has written to standard error so far."""
        self._errors.seek(0)
        text: str = self._errors.read()
        return text

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Ask it to end, wait until it has; its exit code. Killed when it hangs."""
        self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        try:
            return self.process.wait(DEADLINE_S)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@contextmanager
def running(
    *options: str,
    data: str | Path = ":memory:",
    port: int = 0,
    output: str = "json",
    prefix: Sequence[str] = (),
) -> Iterator[Steer]:
    """`steer up` for the time of the block, ready when it begins; without nodes unless some are asked for.
    `prefix` is a command that runs it as somebody else."""
    command = [
        *prefix,
        str(STEER),
        "up",
        "--data",
        str(data),
        "--port",
        str(port),
        "--output",
        output,
        *options,
    ]
    if not any(option.startswith(("--nodes", "--runtime")) for option in options):
        command.append("--nodes=0")
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert process.stdout
        hanging = threading.Timer(DEADLINE_S, process.kill)
        hanging.start()
        server = Steer(process, process.stdout.readline(), errors)
        hanging.cancel()
        try:
            assert server.ready, f"did not start: {server.errors}"
            yield server
            if process.poll() is None:
                assert server.stop() == 0, server.errors
        finally:
            server.kill()
            process.stdout.close()


def refused(*options: str) -> tuple[int, str]:
    """`steer up` that must not start: its exit code and what it says on standard error."""
    done = subprocess.run([str(STEER), "up", *options], capture_output=True, text=True, timeout=DEADLINE_S)
    assert done.stdout == ""
    return done.returncode, done.stderr
