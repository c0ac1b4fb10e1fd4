"""Promises about kubectl that are the API's to keep."""

from __future__ import annotations

import asyncio
import re
import tempfile
from pathlib import Path

import pytest

from steersman.http import Client
from tests.support.api import PATIENCE_S, ApiClient
from tests.support.manifests import deployment

from .keeping import NAMESPACE, Collection, promise
from .kubectl import AsyncKubectl, kubectl_for

pytestmark = pytest.mark.slow

AGNHOST, BUSYBOX = "registry.example/agnhost:2.47", "registry.example/busybox:1.37"


async def _account(client: ApiClient) -> None:
    """What the service account controller would do."""
    await Collection(client, "v1", "serviceaccounts", NAMESPACE).create({"metadata": {"name": "default"}})


@promise("Kubectl client Kubectl api-versions should check if v1 is in available api versions")
async def test_api_versions(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        assert "v1" in (await kubectl("api-versions")).lines


@promise(
    "Kubectl client Kubectl cluster-info should check if Kubernetes control plane services is included in cluster-info"
)
async def test_cluster_info(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        shown = re.sub("\x1b\\[[0-9;]*m", "", (await kubectl("cluster-info")).out)
        assert f"Kubernetes control plane is running at {client.cluster.url}" in shown


@promise("Kubectl client Kubectl version should check is all data is printed")
async def test_version(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        shown = (await kubectl("version")).out
        for item in ("Client Version: ", "Server Version: "):
            assert re.search(item + r"v\d\.\d+\.[\d\w\-\.\+]+", shown)


@promise("Kubectl client Kubectl diff should check if kubectl diff finds a difference for Deployments")
async def test_diff(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        await kubectl("create", "-f", "-", stdin=deployment("agnhost-replica", 3, AGNHOST))
        declared = deployment("agnhost-replica", 3, BUSYBOX)
        done = await asyncio.to_thread(kubectl.sync.attempt, "diff", "-f", "-", stdin=declared)
        assert done.code == 1, done.err
        assert AGNHOST in done.out
        assert BUSYBOX in done.out
        await kubectl("delete", "-f", "-", stdin=declared)


@promise("Kubectl client Kubectl run pod should create a pod from an image when restart is Never")
async def test_run(client: ApiClient) -> None:
    await _account(client)
    async with kubectl_for(client) as kubectl:
        await kubectl("run", "e2e-pod", "--restart=Never", "--pod-running-timeout=2m0s", f"--image={AGNHOST}")
        made = await Collection(client, "v1", "pods", NAMESPACE).get("e2e-pod")
        assert [container["image"] for container in made["spec"]["containers"]] == [AGNHOST]
        assert made["spec"]["restartPolicy"] == "Never"
        await kubectl("delete", "pods", "e2e-pod", "--wait=false")


@promise("Kubectl client Kubectl server-side dry-run should check if kubectl can dry-run update Pods")
async def test_dry_run(client: ApiClient) -> None:
    await _account(client)
    async with kubectl_for(client) as kubectl:
        await kubectl("run", "e2e-pod", f"--image={AGNHOST}", "--labels=run=e2e-pod")
        patch = f'{{"spec":{{"containers":[{{"name": "e2e-pod","image": "{BUSYBOX}"}}]}}}}'
        await kubectl("patch", "pod", "e2e-pod", "-p", patch, "--dry-run=server")
        made = await Collection(client, "v1", "pods", NAMESPACE).get("e2e-pod")
        assert [container["image"] for container in made["spec"]["containers"]] == [AGNHOST]
        await kubectl("delete", "pods", "e2e-pod", "--wait=false")


async def _first_line(kubectl: AsyncKubectl, *arguments: str) -> tuple[asyncio.subprocess.Process, str]:
    """Start kubectl; what it says first."""
    process = await asyncio.create_subprocess_exec(
        *kubectl.sync.command(*arguments),
        env=kubectl.sync.environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout
    async with asyncio.timeout(PATIENCE_S):
        return process, (await process.stdout.readline()).decode()


@promise("Kubectl client Proxy server should support proxy with --port 0")
async def test_proxy_on_a_port(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        process, said = await _first_line(kubectl, "proxy", "--port=0", "--disable-filter")
        try:
            found = re.search(r"Starting to serve on (127\.0\.0\.1:\d+)", said)
            assert found, said
            async with Client(f"http://{found[1]}") as http:
                answer = await http.request("GET", "/api/")
            assert answer.status == 200
            assert b'"v1"' in answer.content
        finally:
            process.kill()
            await process.communicate()


@promise("Kubectl client Proxy server should support --unix-socket=/path")
async def test_proxy_on_a_socket(client: ApiClient) -> None:
    async with kubectl_for(client) as kubectl:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "test"
            process, said = await _first_line(kubectl, "proxy", f"--unix-socket={path}")
            try:
                assert "Starting to serve on" in said
                reader, writer = await asyncio.open_unix_connection(path)
                writer.write(b"GET /api HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 200 OK")
                writer.close()
            finally:
                process.kill()
                await process.communicate()
