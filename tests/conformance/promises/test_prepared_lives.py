"""Promises about what happens to pods while they run: files change, bundles come and go."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import orjson
import pytest

from steersman.cluster.auth.pki import Authority
from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import CONFIG_MAPS, PODS, SECRETS, SERVICE_ACCOUNTS
from steersman.testing import eventually
from tests.integration.nodes.process.pod_world import process_node

from .prepared import (
    KEPT,
    NAMESPACE,
    PATIENCE_S,
    Node,
    Object,
    config_map,
    kept,
    running_node,
    secret,
    volume_pod,
)

LIST = Path(__file__).parents[3].parent / "shared" / "facts" / "conformance" / "kubelet.txt"
TRUST_BUNDLES = ResourceType(
    "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)

Test = Callable[[Node], Awaitable[None]]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with running_node(tmp_path_factory.mktemp("node")) as running:
        yield running


def promise(*names: str) -> Callable[[Test], Callable[[Node], None]]:
    """Make a test of an async function that keeps these promises."""
    for name in names:
        kept(name)

    def decorate(test: Test) -> Callable[[Node], None]:
        def run(node: Node) -> None:
            node.run(test(node))  # type: ignore[arg-type]

        run.__name__, run.__doc__ = test.__name__, f"{names[0]}."
        return run

    return decorate


def until_equal(path: str, *texts: str) -> str:
    """A script that waits until a file has had these contents, one after the other."""
    waits = [f'until [ "$(cat {path} 2> /dev/null)" = "{text}" ]; do sleep 0.05; done' for text in texts]
    return "; ".join(waits) + "; printf seen"


# --- files that change


@promise(
    "ConfigMap updates should be reflected in volume",
    "Projected configMap updates should be reflected in volume",
)
async def test_changes_are_seen(node: Node) -> None:
    client = node.world.client
    await client.create(config_map("changing", {"key": "one"}), kind=CONFIG_MAPS)
    source: Object = {"configMap": {"name": "changing"}}
    projected = {"projected": {"sources": [source]}}
    script = until_equal("/v0/key", "one", "two") + "; " + until_equal("/v1/key", "two")
    await node.create("changing", volume_pod(script, source, projected))
    await node.until("changing", lambda pod: pod["status"]["phase"] == "Running")
    await client.patch(CONFIG_MAPS, "changing", {"data": {"key": "two"}}, NAMESPACE)
    assert await node.said("changing") == "seenseen"


@promise(
    "ConfigMap optional updates should be reflected in volume",
    "Projected configMap optional updates should be reflected in volume",
    "Secrets optional updates should be reflected in volume",
    "Projected secret optional updates should be reflected in volume",
)
async def test_optional_objects_come_and_go(node: Node) -> None:
    client = node.world.client
    made = {kind: (secret if kind is SECRETS else config_map) for kind in (CONFIG_MAPS, SECRETS)}
    for kind, make in made.items():
        await client.create(make("deleted", {"key": "value"}), kind=kind)
        await client.create(make("updated", {"key": "one"}), kind=kind)
    volumes: list[Object] = []
    scripts = []
    for kind, name in (("configMap", "name"), ("secret", "secretName")):
        for way in ("direct", "projected"):
            for which in ("deleted", "updated", "created"):
                number = len(volumes)
                field = name if way == "direct" else "name"
                source: Object = {kind: {field: which, "optional": True}}
                volumes.append(source if way == "direct" else {"projected": {"sources": [source]}})
                # What is deleted disappears where it is optional.
                text = {"deleted": "", "updated": "two", "created": "new"}[which]
                scripts.append(until_equal(f"/v{number}/key", text))
    await node.create("optional", volume_pod("; ".join(scripts), *volumes))
    await node.until("optional", lambda pod: pod["status"]["phase"] == "Running")
    for kind, make in made.items():
        await client.delete(kind, "deleted", NAMESPACE)
        await client.create(make("created", {"key": "new"}), kind=kind)
        await client.patch(kind, "updated", {"data": make("", {"key": "two"})["data"]}, NAMESPACE)
    assert await node.said("optional") == "seen" * len(volumes)


@promise(
    "Downward API volume should update labels on modification",
    "Downward API volume should update annotations on modification",
    "Projected downwardAPI should update labels on modification",
    "Projected downwardAPI should update annotations on modification",
)
async def test_a_pod_sees_its_own_changes(node: Node) -> None:
    items = [
        {"path": what, "fieldRef": {"fieldPath": f"metadata.{what}['key']"}}
        for what in ("labels", "annotations")
    ]
    direct: Object = {"downwardAPI": {"items": items}}
    scripts = [
        until_equal(f"/v{number}/{what}", "b") for number in (0, 1) for what in ("labels", "annotations")
    ]
    spec = volume_pod("; ".join(scripts), direct, {"projected": {"sources": [direct]}})
    await node.create("modified", spec, labels={"key": "a"}, annotations={"key": "a"})
    await node.until("modified", lambda pod: pod["status"]["phase"] == "Running")
    for what in ("labels", "annotations"):
        await node.world.client.patch(PODS, "modified", {"metadata": {what: {"key": "b"}}}, NAMESPACE)
    assert await node.said("modified") == "seen" * 4


def test_volumes_can_be_mounted_in_volumes_that_are_only_to_be_read(node: Node) -> None:
    async def run() -> str:
        await node.world.client.create(config_map("outer", {"key": "value"}), kind=CONFIG_MAPS)
        mounts = [{"name": "v0", "mountPath": "/v0"}, {"name": "v1", "mountPath": "/v0/cache"}]
        volumes: list[Object] = [{"configMap": {"name": "outer"}}, {"emptyDir": {}}]
        script = "echo x > /v0/cache/file; cat /v0/key /v0/cache/file"
        await node.create("nested", volume_pod(script, *volumes, container={"volumeMounts": mounts}))
        return await node.said("nested")

    assert node.run(run()) == "valuex"


@promise("EmptyDir wrapper volumes should not cause race condition when used for configmaps")
async def test_many_config_maps_in_many_pods(node: Node) -> None:
    names = [f"racey-{number}" for number in range(50)]
    for name in names:
        await node.world.client.create(config_map(name, {"data-1": name}), kind=CONFIG_MAPS)
    volumes = [{"configMap": {"name": name}} for name in names]
    paths = " ".join(f"/v{number}/data-1" for number in range(len(names)))
    for number in range(5):
        await node.create(f"racey-{number}", volume_pod(f"cat {paths} | wc -c", *volumes))
    expected = str(sum(len(name) for name in names))
    assert [await node.said(f"racey-{number}") for number in range(5)] == [expected] * 5


# --- trust bundles


def bundles(*sources: Object) -> Object:
    return {"projected": {"sources": [{"clusterTrustBundle": {"path": "anchors", **one}} for one in sources]}}


@promise(
    "should be able to mount a single ClusterTrustBundle by name",
    "should be able to specify multiple CTB volumes",
    "should be able to mount a big number (>100) of CTBs",
    "should be capable to mount multiple trust bundles by signer+labels can combine all signer CTBs "
    "with an empty label selector",
    "should be capable to mount multiple trust bundles by signer+labels can combine multiple CTBs "
    "with signer name and label selector",
    "should be capable to mount multiple trust bundles by signer+labels should start if only signer name "
    "and explicit label selector matches nothing + optional=true",
    "should be capable to mount multiple trust bundles by signer+labels should start if only signer name "
    "and nil label selector + optional=true",
    "should prevent a pod from starting if: sets optional=false and no trust bundle matches query",
    "should prevent a pod from starting if: sets optional=false and the configured CTB does not exist",
)
async def test_trust_bundles_are_mounted(node: Node) -> None:
    signer = "test.test/signer"
    for number in range(103):
        pem = Authority.make(f"ca {number}").pem.decode()
        labels = {"half": str(number % 2)}
        name = f"test.test:signer:{number}"
        bundle = {
            "metadata": {"name": name, "labels": labels},
            "spec": {"signerName": signer, "trustBundle": pem},
        }
        await node.world.client.create(bundle, kind=TRUST_BUNDLES)
    half: Object = {"matchLabels": {"half": "0"}}
    none: Object = {"matchLabels": {"half": "none"}}
    found = volume_pod(
        "\n".join(f"grep -c BEGIN /v{number}/anchors || true" for number in range(5)),
        bundles({"name": "test.test:signer:7"}),
        bundles({"signerName": signer, "labelSelector": {}}),
        bundles({"signerName": signer, "labelSelector": half}),
        bundles({"signerName": signer, "labelSelector": none, "optional": True}),
        bundles({"signerName": signer, "optional": True}),
    )
    await node.create("bundles", found)
    refused = {
        "no-match": {"signerName": signer, "labelSelector": none},
        "no-name": {"name": "test.test:signer:none"},
    }
    for name, source in refused.items():
        await node.create(name, volume_pod("true", bundles(source)))
    assert await node.said("bundles") == "1\n103\n52\n0\n0"
    for name in refused:
        await node.world.told(name, "FailedMount")
        assert (await node.world.pod(name))["status"]["phase"] == "Pending"


def test_pods_can_speak_for_their_service_account(tmp_path: Path) -> None:
    """ServiceAccounts should mount an API token into pods."""
    where = "/var/run/secrets/kubernetes.io/serviceaccount"
    path = "/apis/authentication.k8s.io/v1/tokenreviews"

    async def run() -> None:
        config = ClusterConfig(controllers=("serviceaccount", "root-ca-certificate-publisher"))
        async with LocalCluster(config) as api, process_node(api, tmp_path) as world:
            await eventually(lambda: world.client.find(SERVICE_ACCOUNTS, "default", NAMESPACE), PATIENCE_S)
            node = Node(world, asyncio.get_running_loop())
            script = "\n".join(f"cat {where}/{name}; echo" for name in ("namespace", "token", "ca.crt"))
            projected = {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}
            await node.create("account", volume_pod(script))
            await node.create("projected", volume_pod("cat /v0/token", projected))
            namespace, token, authority = (await node.said("account")).split("\n", 2)
            assert namespace == NAMESPACE
            assert authority.strip() == api.authority.pem.decode().strip()
            for one in (token, await node.said("projected")):
                review = {"spec": {"token": one}}
                status = orjson.loads(await world.client.request("POST", path, body=review))["status"]
                assert status["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:default"

    asyncio.run(run())


kept("ServiceAccounts should mount an API token into pods")
kept("ServiceAccounts should mount projected service account token")


@pytest.mark.skipif(not LIST.exists(), reason="the list of promises is not here")
def test_the_promises_kept_here_are_public_ones() -> None:
    lines = [re.sub(r"\[[^]]*\]", "", line) for line in LIST.read_text().splitlines()]
    assert {" ".join(line.split()) for line in lines} >= KEPT
