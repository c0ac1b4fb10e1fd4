"""`steer url` on a cluster without a proxy: services answer where a test listens, or nowhere."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli.test_misfortunes import one_line, steer
from tests.support.steer import DEADLINE_S, STEER, Steer, running

pytestmark = pytest.mark.slow

#: Of the first 16 of the range, which no service is given that asks for none.
HERE = "127.66.1.12"
STAND_INS = "steersman.dev/stand-in-ports"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Steer]:
    with running("--nodes=0", "--service-cidr=127.66.1.0/24") as server:
        for service in (
            {"name": "web", "ports": [{"port": 80, "name": "page"}, {"port": 443, "name": "safe"}]},
            {"name": "headless", "clusterIP": "None", "ports": [{"port": 80}]},
            {"name": "elsewhere", "type": "ExternalName", "externalName": "example.com"},
            {"name": "names", "ports": [{"port": 53, "protocol": "UDP"}]},
            {"name": "old", "ports": [{"port": 9, "protocol": "SCTP"}]},
        ):
            make(server, **service)
        yield server


def make(server: Steer, name: str, annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": name, "annotations": annotations or {}}
    answer = server.api.post("/api/v1/namespaces/default/services", {"metadata": metadata, "spec": spec})
    assert answer.status == 201, answer.text
    made: dict[str, Any] = json.loads(answer.text)
    return made


def url(cluster: Steer, folder: Path, *arguments: str) -> tuple[int, str]:
    return steer(folder, "url", f"--kubeconfig={cluster.kubeconfig}", *arguments)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        pytest.param(["nosuch"], 'services "nosuch" not found', id="none"),
        pytest.param([""], "'' is not a valid name of an object", id="no name"),
        pytest.param(["svc/"], "'' is not a valid name of an object", id="a kind only"),
        pytest.param([".."], "'..' is not a valid name of an object", id="dots"),
        pytest.param(
            ["web", "-n", ".."], "'..' is not a valid namespace of an object", id="dots for a namespace"
        ),
        pytest.param(["web", "--port", "nosuch"], "the service web has no port nosuch", id="no such port"),
        pytest.param(["web", "--port", "81"], "the service web has no port 81", id="no such number"),
        pytest.param(["headless"], "the service headless has no cluster IP: it is headless"),
        pytest.param(["elsewhere"], "the service elsewhere has no cluster IP: it is ExternalName"),
        pytest.param(["web", "--wait", "nan"], "Invalid value for '--wait'", id="no number"),
    ],
)
def test_what_has_no_url(cluster: Steer, tmp_path: Path, arguments: list[str], said: str) -> None:
    assert one_line(*url(cluster, tmp_path, *arguments)).startswith(said)


def test_who_does_not_answer_is_named_once(cluster: Steer, tmp_path: Path) -> None:
    address = make(cluster, "silent", ports=[{"port": 8000}])["spec"]["clusterIP"]
    said = one_line(*url(cluster, tmp_path, "silent", "--wait", "0"))
    assert said == f"nothing answers at http://{address}:8000 yet: connection refused"


@pytest.mark.parametrize(("name", "expected"), [("names", "udp://{}:53\n"), ("old", "sctp://{}:9\n")])
def test_who_cannot_be_asked_is_not_waited_for(
    cluster: Steer, tmp_path: Path, name: str, expected: str
) -> None:
    service = json.loads(cluster.api.get(f"/api/v1/namespaces/default/services/{name}").text)
    assert url(cluster, tmp_path, f"service/{name}") == (0, expected.format(service["spec"]["clusterIP"]))


def test_a_stand_in_is_where_a_port_answers(cluster: Steer, tmp_path: Path) -> None:
    with socket.create_server((HERE, 0)) as server:
        address, port = server.getsockname()
        said = {STAND_INS: f"80={port}"}
        make(cluster, "low", said, clusterIP=address, ports=[{"port": 80}])
        assert url(cluster, tmp_path, "low") == (0, f"http://{address}:{port}\n")
        code, said = url(cluster, tmp_path, "svc/low", "--output", "json")
        (found,) = json.loads(said)
        assert (code, found["port"], found["answersAt"]) == (0, 80, port)


def test_an_interrupted_wait_ends_at_once(cluster: Steer, tmp_path: Path) -> None:
    with socket.create_server((HERE, 0)) as server:
        server.settimeout(DEADLINE_S)
        port = server.getsockname()[1]
        config = tmp_path / "kubeconfig"
        config.write_text(
            re.sub("server: .*", f"server: https://{HERE}:{port}", cluster.kubeconfig.read_text())
        )
        command = [str(STEER), "url", f"--kubeconfig={config}", "late", "--wait", "600"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as process:
            connection, _ = server.accept()
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=DEADLINE_S)
            connection.close()
    assert (process.returncode, said) == (130, "")
