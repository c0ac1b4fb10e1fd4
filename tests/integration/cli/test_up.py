"""`steer up` as its users meet it: what it prints, keeps, and does when it ends."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import stat
import threading
from pathlib import Path

import pytest

from steersman.objects.conditions import condition_is
from tests.support.steer import Answer, Steer, running

pytestmark = pytest.mark.slow

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"


def make(server: Steer, name: str) -> Answer:
    return server.api.post(CONFIG_MAPS, {"metadata": {"name": name}})


def names(server: Steer) -> set[str]:
    listed = server.api.get(CONFIG_MAPS)
    assert listed.status == 200
    # The certificate is the cluster's own, made by a controller soon after the start.
    return {item["metadata"]["name"] for item in listed.json["items"]} - {"kube-root-ca.crt"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_ready_line_for_people(tmp_path: Path) -> None:
    with running(data=tmp_path, output="text") as server:
        assert re.fullmatch(
            r"Steersman is up at https://127\.0\.0\.1:\d+ \(\d+\.\d\d s\)\. Ctrl-C stops it\.\n", server.ready
        )
        assert server.process.stdout is not None
        assert server.process.stdout.readline() == f"  export KUBECONFIG={tmp_path / 'kubeconfig'}\n"


def test_ready_line_for_programs(tmp_path: Path) -> None:
    with running(data=tmp_path) as server:
        assert set(server.announced) == {"server", "kubeconfig", "pid"}
        assert server.announced["pid"] == server.process.pid
        assert server.api.get("/readyz").text == "ok"
        assert server.errors == ""


def test_those_who_wait_find_nodes_and_their_account() -> None:
    with running("--wait", "--nodes", "3", "--runtime", "simulated", "--controllers", "all") as server:
        nodes = server.api.get("/api/v1/nodes").json["items"]
        assert [condition_is(node["status"]["conditions"], "Ready") for node in nodes] == [True] * 3
        assert server.api.get("/api/v1/namespaces/default/serviceaccounts/default").status == 200


def test_secrets_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "cluster"
    with running(data=folder) as server:
        assert mode(server.kubeconfig) == 0o600
        assert mode(folder) == 0o700
        for name in ("ca.key", "apiserver.key", "admin.token"):
            assert mode(folder / name) == 0o600, name


def test_kubeconfig_goes_where_told(tmp_path: Path) -> None:
    file = tmp_path / "new" / "config"
    with running("--kubeconfig", str(file)) as server:
        assert server.kubeconfig == file
        assert mode(file) == 0o600
        assert server.api.get("/api/v1/namespaces").status == 200


def test_admin_token_is_the_one_given() -> None:
    with running("--admin-token", "a-good-token") as server:
        assert server.api.token == "a-good-token"
        assert server.api.get("/api/v1/namespaces").status == 200


def test_admin_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEER_ADMIN_TOKEN", "from-outside")
    with running() as server:
        assert server.api.get("/api/v1/namespaces", token="from-outside").status == 200


def test_everything_is_kept_over_a_restart(tmp_path: Path) -> None:
    with running(data=tmp_path) as server:
        created = make(server, "kept").json
        before = server.api
        namespaces = server.api.get("/api/v1/namespaces").json["items"]
    with running(data=tmp_path) as server:
        assert server.api.get(f"{CONFIG_MAPS}/kept").json == created
        assert server.api.get("/api/v1/namespaces").json["items"] == namespaces
        assert (server.api.token, server.api.authority) == (before.token, before.authority)
        later = make(server, "later").json
        assert int(later["metadata"]["resourceVersion"]) > int(created["metadata"]["resourceVersion"])


def test_service_addresses_are_not_given_twice_over_a_restart(tmp_path: Path) -> None:
    path, spec = "/api/v1/namespaces/default/services", {"ports": [{"port": 80}]}
    given = set()
    for name in ("one", "two", "three"):
        with running("--service-cidr", "10.7.0.0/29", data=tmp_path) as server:
            made = server.api.post(path, {"metadata": {"name": name}, "spec": spec})
            assert made.status == 201, made.text
            given.add(made.json["spec"]["clusterIP"])
    assert len(given) == 3


def test_memory_keeps_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    with running() as server:
        make(server, "gone")
        assert server.kubeconfig.is_relative_to(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with running() as server:
        assert names(server) == set()


def open_watch(server: Steer) -> ssl.SSLSocket:
    """A watch that has told of its first object, as bytes on a socket."""
    make(server, "first")
    address = (server.api.address.hostname, server.api.address.port)
    raw = socket.create_connection(address, timeout=20)
    # A connection that is cut off must look different from one that was ended.
    stream = server.api.tls().wrap_socket(raw, server_hostname="localhost", suppress_ragged_eofs=False)
    head = f"GET {CONFIG_MAPS}?watch=1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.api.token}\r\n\r\n"
    stream.sendall(head.encode())
    received = b""
    while b'"name":"first"' not in received:
        received += stream.recv(65536)
    assert b"transfer-encoding: chunked" in received.lower()
    return stream


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
def test_stops_cleanly_and_ends_watches_properly(tmp_path: Path, number: signal.Signals) -> None:
    with running(data=tmp_path) as server, open_watch(server) as stream:
        server.process.send_signal(number)
        received = b""
        while part := stream.recv(65536):
            received += part
        assert received.endswith(b"0\r\n\r\n"), "the last chunk says that it was the last"
        stream.close()
        assert server.wait() == 0
        assert server.errors == ""


def test_starts_again_right_after_a_stop_on_the_same_port(tmp_path: Path) -> None:
    with running(data=tmp_path) as server, open_watch(server):
        port = server.api.address.port
        assert port
        assert server.stop() == 0
    with running(data=tmp_path, port=port) as server:
        assert names(server) == {"first"}


def test_listens_on_ipv6() -> None:
    if not socket.has_ipv6 or not Path("/proc/net/if_inet6").read_text().strip():
        pytest.skip("this machine has no IPv6")
    with running("--bind", "::1") as server:
        assert server.announced["server"].startswith("https://[::1]:")
        assert server.api.get("/api/v1/namespaces").status == 200


@pytest.mark.parametrize(
    ("plugin", "status"), [("", 404), ("NamespaceLifecycle", 201)], ids=["all plugins", "without one"]
)
def test_admission_can_be_left_out(plugin: str, status: int) -> None:
    with running("--disable-admission", plugin) as server:
        made = server.api.post("/api/v1/namespaces/nowhere/configmaps", {"metadata": {"name": "x"}})
        assert made.status == status


class Writer(threading.Thread):
    """Creates objects one after the other until the server is gone; `acknowledged` are those it has."""

    def __init__(self, server: Steer, prefix: str) -> None:
        super().__init__()
        self.api = server.api
        self.prefix = prefix
        self.acknowledged: list[str] = []
        self.under_way = threading.Event()

    def run(self) -> None:
        connection = self.api.connect()
        headers = {"Authorization": f"Bearer {self.api.token}", "Content-Type": "application/json"}
        try:
            for number in range(1_000_000):
                name = f"{self.prefix}-{number}"
                connection.request("POST", CONFIG_MAPS, f'{{"metadata":{{"name":"{name}"}}}}', headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == 201
                self.acknowledged.append(name)
                if number == 20:
                    self.under_way.set()
        except (OSError, EOFError):
            pass
        except Exception as error:  # an answer cut off in the middle is no acknowledgement
            if type(error).__module__ != "http.client":
                raise
        finally:
            connection.close()


def test_what_was_acknowledged_survives_kill_9(tmp_path: Path) -> None:
    acknowledged: set[str] = set()
    for turn in range(3):
        with running(data=tmp_path) as server:
            assert names(server) >= acknowledged
            writers = [Writer(server, f"w{turn}-{number}") for number in range(4)]
            for writer in writers:
                writer.start()
            assert all(writer.under_way.wait(20) for writer in writers)
            os.kill(server.process.pid, signal.SIGKILL)
            assert server.wait() == -signal.SIGKILL
            for writer in writers:
                writer.join(20)
                acknowledged |= set(writer.acknowledged)
    assert len(acknowledged) >= 3 * 4 * 20
    with running(data=tmp_path) as server:
        kept = names(server)
        # At most the one that each writer was waiting for was done without being acknowledged.
        assert kept >= acknowledged
        assert len(kept - acknowledged) <= 3 * 4
