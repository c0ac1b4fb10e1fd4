"""A cluster on this machine: what it keeps, what it refuses, what it leaves behind."""

from __future__ import annotations

import asyncio
import base64
import os
import socket
import stat
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from steersman.cluster.local import ClusterConfig, LocalCluster, default_data_folder
from steersman.cluster.store import Locked
from steersman.http import Client, client_tls
from tests.support.api import PATIENCE_S, ApiClient, api, config_map
from tests.support.waiting import until

MAPS = "/api/v1/namespaces/default/configmaps"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are made during the test."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def open_sockets() -> set[str]:
    """The sockets of this process."""
    found = set()
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue
        if target.startswith("socket:"):
            found.add(target)
    return found


@pytest.mark.parametrize("kept", [False, True], ids=["memory", "folder"])
def test_stopping_leaves_nothing_behind(tmp_path: Path, temporary: Path, kept: bool) -> None:
    async def run() -> None:
        tasks, sockets = asyncio.all_tasks(), open_sockets()
        config: dict[str, Any] = {"data": str(tmp_path / "data")} if kept else {}
        async with api(**config) as client:
            port = client.cluster.port
            assert len(list(temporary.iterdir())) == (0 if kept else 1)
            async with client.watch(f"{MAPS}?watch=1") as events:
                await client.ok("POST", MAPS, config_map("a"))
                assert await events.take(1) == [("ADDED", "a")]
        assert asyncio.all_tasks() == tasks
        assert open_sockets() <= sockets
        assert list(temporary.iterdir()) == []
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", port)

    asyncio.run(run())


def test_stopping_ends_open_watches() -> None:
    async def run() -> None:
        cluster = LocalCluster(ClusterConfig())
        await cluster.start()
        try:
            token = [(b"authorization", f"Bearer {cluster.token}".encode())]
            tls = client_tls(ca=cluster.authority.pem)
            async with (
                Client(cluster.url, ssl=tls, headers=token) as http,
                http.stream("GET", f"{MAPS}?watch=1") as stream,
            ):
                stopping = asyncio.create_task(cluster.stop())
                async with asyncio.timeout(10):
                    assert [line async for line in stream.lines()] == []
                    await stopping
        finally:
            await cluster.stop()

    asyncio.run(run())


def test_stopping_twice_is_fine() -> None:
    async def run() -> None:
        cluster = LocalCluster(ClusterConfig())
        await cluster.start()
        await cluster.stop()
        await cluster.stop()

    asyncio.run(run())


def test_a_restart_keeps_token_authority_and_objects(tmp_path: Path) -> None:
    async def visit(create: bool) -> tuple[str, bytes, Any, Any]:
        async with api(data=str(tmp_path)) as client:
            if create:
                await client.ok("POST", MAPS, config_map("a", k="v"))
            cluster = client.cluster
            default = await client.ok("GET", "/api/v1/namespaces/default")
            return cluster.token, cluster.authority.pem, await client.ok("GET", f"{MAPS}/a"), default

    assert asyncio.run(visit(True)) == asyncio.run(visit(False))


def test_the_api_service_follows_the_port(tmp_path: Path) -> None:
    async def endpoint() -> tuple[int, list[int]]:
        async with api(data=str(tmp_path)) as client:
            found = await client.ok("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
            sliced = await client.ok(
                "GET", "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes"
            )
            return client.cluster.port, [found["subsets"][0]["ports"][0]["port"], sliced["ports"][0]["port"]]

    for _ in range(2):
        port, shown = asyncio.run(endpoint())
        assert shown == [port, port]


def test_other_api_servers_learn_whom_to_believe(tmp_path: Path) -> None:
    path = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication"

    async def learned(client: ApiClient) -> dict[str, str]:
        async def published() -> dict[str, str] | None:
            code, found = await client.ask("GET", path)
            return found["data"] if code == 200 and "client-ca-file" in found.get("data", {}) else None

        data: dict[str, str] = await until(published, PATIENCE_S)
        return data

    async def visit() -> dict[str, str]:
        async with api(data=str(tmp_path)) as client:
            data = await learned(client)
            assert data["client-ca-file"] == client.cluster.authority.pem.decode()
            assert data["requestheader-client-ca-file"] != data["client-ca-file"]
            # What somebody made of it is put right at the next start.
            await client.patch(path, {"data": None})
            return data

    assert asyncio.run(visit()) == asyncio.run(visit())


def test_allocated_addresses_outlive_a_restart(tmp_path: Path) -> None:
    services = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.0.77", "ports": [{"port": 80}]}}

    async def create(name: str) -> int:
        body["metadata"] = {"name": name}
        async with api(data=str(tmp_path)) as client:
            return (await client.ask("POST", services, body))[0]

    assert [asyncio.run(create(name)) for name in ("s", "t")] == [201, 422]


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the folder", "elsewhere"])
def test_the_kubeconfig(tmp_path: Path, elsewhere: bool) -> None:
    data = tmp_path / "data"
    file = tmp_path / "deep" / "er" / "config" if elsewhere else data / "kubeconfig"

    async def run() -> None:
        config = ClusterConfig(str(data), kubeconfig=file if elsewhere else None)
        async with LocalCluster(config) as cluster:
            assert cluster.kubeconfig == file
            assert mode(file) == 0o600
            loaded = yaml.safe_load(file.read_text())
            assert (loaded["kind"], loaded["apiVersion"]) == ("Config", "v1")
            context = {each["name"]: each["context"] for each in loaded["contexts"]}[
                loaded["current-context"]
            ]
            known = {each["name"]: each["cluster"] for each in loaded["clusters"]}[context["cluster"]]
            user = {each["name"]: each["user"] for each in loaded["users"]}[context["user"]]
            assert known["server"] == cluster.url == f"https://127.0.0.1:{cluster.port}"
            assert base64.b64decode(known["certificate-authority-data"]) == cluster.authority.pem
            assert user == {"token": cluster.token}

    asyncio.run(run())


def test_private_files_are_the_owners_alone(tmp_path: Path) -> None:
    data = tmp_path / "data"

    async def run() -> None:
        async with LocalCluster(ClusterConfig(str(data))):
            assert mode(data) == 0o700
            private = ("admin.token", "ca.key", "apiserver.key", "kubeconfig")
            assert {name: mode(data / name) for name in private} == dict.fromkeys(private, 0o600)

    asyncio.run(run())


def test_a_given_token_is_the_admins_and_is_not_kept(tmp_path: Path) -> None:
    async def run() -> None:
        async with api(data=str(tmp_path), admin_token="chosen") as client:
            assert client.cluster.token == "chosen"
            assert (await client.raw("GET", MAPS)).status == 200
        assert not (tmp_path / "admin.token").exists()

    asyncio.run(run())


def test_a_second_cluster_on_the_same_folder_is_refused(tmp_path: Path) -> None:
    async def run() -> None:
        async with api(data=str(tmp_path)) as client:
            kubeconfig = client.cluster.kubeconfig.read_bytes()
            sockets = open_sockets()
            with pytest.raises(Locked, match=f"is in use by process {os.getpid()}"):
                await LocalCluster(ClusterConfig(str(tmp_path))).start()
            assert open_sockets() <= sockets
            assert client.cluster.kubeconfig.read_bytes() == kubeconfig
            assert (await client.raw("GET", MAPS)).status == 200, "the first goes on"

    asyncio.run(run())


def test_a_start_that_fails_cleans_up(tmp_path: Path, temporary: Path) -> None:
    async def run() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            tasks, sockets = asyncio.all_tasks(), open_sockets()
            port = taken.getsockname()[1]
            for data in (":memory:", str(tmp_path / "data")):
                with pytest.raises(OSError):
                    await LocalCluster(ClusterConfig(data, port=port)).start()
            assert asyncio.all_tasks() == tasks
            assert open_sockets() <= sockets
            assert list(temporary.iterdir()) == []
        async with LocalCluster(ClusterConfig(str(tmp_path / "data"), port=port)) as cluster:
            assert cluster.port == port, "the folder is not locked by what failed"

    asyncio.run(run())


def test_a_kubeconfig_that_cannot_be_written_fails_the_start(tmp_path: Path, temporary: Path) -> None:
    (tmp_path / "file").write_text("")

    async def run() -> None:
        tasks, sockets = asyncio.all_tasks(), open_sockets()
        with pytest.raises(OSError):
            await LocalCluster(ClusterConfig(kubeconfig=tmp_path / "file" / "config")).start()
        assert asyncio.all_tasks() == tasks
        assert open_sockets() <= sockets
        assert list(temporary.iterdir()) == []

    asyncio.run(run())


@pytest.mark.parametrize(
    ("xdg", "folder"),
    [("/state", "/state/steersman/cluster"), ("", "/home/x/.local/state/steersman/cluster")],
)
def test_the_default_folder_is_the_users(xdg: str, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    monkeypatch.setenv("XDG_STATE_HOME", xdg)
    assert default_data_folder() == Path(folder)


def test_what_only_some_clusters_need_is_not_loaded_by_all() -> None:
    parts = ("admission.webhooks", "apiserver.custom", "cel", "schema.structural")
    soon_after = "steersman.cluster.admission.services, steersman.cluster.apiserver.aggregation"
    show = f"import sys, steersman.cluster.local, {soon_after}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", show], capture_output=True, text=True, check=True)
    modules = set(loaded.stdout.split())
    assert "steersman.cluster.apiserver.server" in modules
    assert not modules & {"yaml", *(f"steersman.cluster.{part}" for part in parts)}
