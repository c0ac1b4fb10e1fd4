"""`kubectl exec`, `attach`, `cp`, `port-forward` and the proxy, with containers that are real processes."""

from __future__ import annotations

import os
import socket
import subprocess
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.streaming.talking import Talking
from tests.support.kubectl import Kubectl
from tests.support.waiting import soon

pytestmark = pytest.mark.slow

PATIENCE_S = 60.0
#: Gives back what it gets and says so when there is no more; on port 8080 of the pod.
ECHO = """
import os, socketserver
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(65536):
            self.request.sendall(data)
        self.request.sendall(b" over")
class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
Server((os.environ["POD_IP"], 8080), Echo).serve_forever()
"""
#: A page on port 8081.
WEB = """
import http.server, os
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(f'<a href="/next">{self.path}</a>'.encode())
http.server.ThreadingHTTPServer((os.environ["POD_IP"], 8081), Page).serve_forever()
"""
OWN_ADDRESS = [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]


def until(what: Callable[[], Any]) -> Any:
    return soon(what, PATIENCE_S, every_s=0.1)


def container(name: str, program: str, *arguments: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "image": f"host/{program}", "args": list(arguments), **more}


def pod(name: str, *containers: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"containers": list(containers), "terminationGracePeriodSeconds": 0},
    }


@pytest.fixture(scope="module")
def pods(cluster_kubectl: Kubectl) -> Kubectl:
    """`one` serves, `two` has two containers that listen to their input, `shell` a terminal."""
    kubectl = cluster_kubectl
    until(lambda: kubectl.attempt("get", "serviceaccount", "default").code == 0)
    listen = "while read line; do echo got $line; done"
    kubectl.create(
        pod(
            "one",
            container("echo", "python3", "-c", ECHO, env=OWN_ADDRESS),
            container("web", "python3", "-c", WEB, env=OWN_ADDRESS, ports=[{"containerPort": 8081}]),
        ),
        pod(
            "two",
            container("first", "sh", "-c", f"{listen}; sleep 1000", stdin=True),
            container("second", "sh", "-c", "sleep 1000"),
        ),
        pod("shell", container("main", "sh", stdin=True, tty=True)),
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "one"},
            "spec": {"selector": {"app": "one"}, "ports": [{"name": "page", "port": 80, "targetPort": 8081}]},
        },
    )
    kubectl("wait", "--for=condition=Ready", "pod/one", "pod/two", "pod/shell", f"--timeout={PATIENCE_S:g}s")
    return kubectl


@pytest.fixture(params=[True, False], ids=["websocket", "spdy"])
def talking(pods: Kubectl, request: pytest.FixtureRequest) -> Talking:
    return Talking(pods, websockets=request.param)


# Commands


def test_output_errors_and_exit_code_of_a_command(talking: Talking) -> None:
    script = "echo out; echo err >&2; exit 3"
    said = talking.pipe("exec", "two", "-c", "second", "--", "sh", "-c", script)
    assert said == (3, b"out\n", b"err\ncommand terminated with exit code 3\n")
    assert talking.pipe("exec", "two", "-c", "second", "--", "true") == (0, b"", b"")


def test_what_cannot_be_run_is_said(talking: Talking) -> None:
    error = talking.fails("exec", "shell", "--", "no-such-program")
    assert error.startswith("error: Internal error occurred: error executing command in container: ")
    assert "no-such-program" in error
    assert talking.fails("exec", "two", "-c", "none", "--", "true") == (
        "Error from server (BadRequest): container none is not valid for pod two"
    )


def test_megabytes_of_any_bytes_go_in_and_come_out(talking: Talking) -> None:
    data = os.urandom(3 << 20)
    said = talking.pipe("exec", "-i", "shell", "--", "cat", stdin=data)
    assert (said.code, said.out == data, said.err) == (0, True, b"")


def test_a_command_need_not_read_all_of_its_input(talking: Talking) -> None:
    data = os.urandom(3 << 20)
    said = talking.pipe("exec", "-i", "shell", "--", "head", "-c", "5", stdin=data)
    assert (said.code, said.out) == (0, data[:5])


def test_files_are_copied_in_and_out(talking: Talking, tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "there").mkdir()
    (tmp_path / "here").write_bytes(data)
    name = "ws" if talking._websockets else "spdy"
    talking("cp", str(tmp_path / "here"), f"two:/tmp/copied-{name}", "-c", "second")
    talking("cp", f"two:/tmp/copied-{name}", str(tmp_path / "back"), "-c", "second")
    assert (tmp_path / "back").read_bytes() == data
    talking("exec", "two", "-c", "second", "--", "rm", f"/tmp/copied-{name}")


def test_a_terminal_is_a_terminal(talking: Talking) -> None:
    script = "test -t 0 && test -t 1 && echo ready; read line; stty size; echo bye $line; exit 7"
    said = talking.terminal("exec", "-it", "shell", "--", "sh", "-c", script, typed=[(b"ready", b"friend\n")])
    assert said.code == 7
    assert b"33 111\r\n" in said.out
    assert b"bye friend\r\n" in said.out


def test_a_command_ends_with_its_client(talking: Talking) -> None:
    mark = f"1234{os.getpid()}{int(talking._websockets)}"
    process = talking.start("exec", "shell", "--", "sh", "-c", f"echo go; exec sleep {mark}")
    assert process.stdout is not None
    assert process.stdout.readline() == "go\n"
    process.kill()
    process.communicate()
    until(lambda: not _runs(f"sleep\0{mark}".encode()))


def _runs(command: bytes) -> bool:
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if entry.read_bytes().rstrip(b"\0") == command:
                return True
        except OSError:
            continue
    return False


# The container's own process


def test_a_container_is_talked_to(talking: Talking) -> None:
    for word in ("this", "that"):
        # The container goes on when its client leaves.
        process = talking.start("attach", "-i", "two", "-c", "first", stdin=subprocess.PIPE)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"got {word}\n"
        process.kill()
        process.communicate()


def test_a_containers_terminal_is_taken_over(talking: Talking) -> None:
    typed = [(b"try pressing enter", b"echo $((40 + 2)) seen\n")]
    assert b"42 seen" in talking.terminal("attach", "-it", "shell", typed=typed, until=b"42 seen").out


# Ports


def exchange(port: int, data: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as connection:
        with ThreadPoolExecutor(1) as pool:

            def send() -> None:
                connection.sendall(data)
                connection.shutdown(socket.SHUT_WR)

            sending = pool.submit(send)
            parts = []
            while part := connection.recv(1 << 16):
                parts.append(part)
            sending.result()
        return b"".join(parts)


def test_a_port_is_forwarded_for_many_connections(talking: Talking) -> None:
    with talking.forwarding("pod/one", "8080") as port, ThreadPoolExecutor(5) as pool:
        sent = [os.urandom(200_000) for _ in range(5)]
        answers = list(pool.map(lambda data: exchange(port, data), sent))
        assert answers == [data + b" over" for data in sent]
        large = os.urandom(3 << 20)
        assert exchange(port, large) == large + b" over"


def test_a_service_is_forwarded_to_one_of_its_pods(talking: Talking) -> None:
    until(lambda: "one" in talking("get", "endpointslices", "-o", "jsonpath={..targetRef.name}").out)
    with talking.forwarding("service/one", "80") as port:
        answer = urllib.request.urlopen(f"http://127.0.0.1:{port}/x", timeout=PATIENCE_S)
        assert answer.read() == b'<a href="/next">/x</a>'


# The proxy


@pytest.mark.parametrize("name", ["pods/one:8081", "services/one:page", "services/http:one:80"])
def test_the_api_server_leads_to_pods_and_services(pods: Kubectl, name: str) -> None:
    until(lambda: "one" in pods("get", "endpointslices", "-o", "jsonpath={..targetRef.name}").out)
    prefix = f"/api/v1/namespaces/default/{name}/proxy"
    answer = pods("get", "--raw", f"{prefix}/some/where?x=1").out
    assert answer == f'<a href="{prefix}/next">/some/where?x=1</a>'


def test_the_api_server_leads_to_the_nodes_own_api(pods: Kubectl) -> None:
    (node,) = [item["metadata"]["name"] for item in pods.get("nodes")["items"]]
    assert pods("get", "--raw", f"/api/v1/nodes/{node}/proxy/healthz").out == "ok"
