"""Promises about what happens to pods while they run: files change, objects come and go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator

import pytest

from steersman.objects.resources import CONFIG_MAPS, PODS, SECRETS

from .prepared import NAMESPACE, Node, Object, config_map, kept, running_node, secret, volume_pod

Test = Callable[[Node], Awaitable[None]]

KINDS = {"configMap": (CONFIG_MAPS, config_map, "name"), "secret": (SECRETS, secret, "secretName")}


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with running_node(tmp_path_factory.mktemp("node")) as running:
        yield running


def promise(name: str) -> Callable[[Test], Callable[[Node], None]]:
    """Make a test of an async function that keeps the promise."""
    kept(name)

    def decorate(test: Test) -> Callable[[Node], None]:
        def run(node: Node) -> None:
            node.run(test(node))  # type: ignore[arg-type]

        run.__name__, run.__doc__ = test.__name__, f"{name}."
        return run

    return decorate


def until_equal(path: str, *texts: str) -> str:
    """A script that waits until a file has had these contents, one after the other."""
    waits = [f'until [ "$(cat {path} 2> /dev/null)" = "{text}" ]; do sleep 0.05; done' for text in texts]
    return "; ".join(waits) + "; printf seen"


def in_volume(kind: str, way: str, name: str, **fields: bool) -> Object:
    """A volume of an object's: of that object, or projected."""
    if way == "projected":
        return {"projected": {"sources": [{kind: {"name": name, **fields}}]}}
    return {kind: {KINDS[kind][2]: name, **fields}}


async def runs(node: Node, name: str, spec: Object, **metadata: dict[str, str]) -> None:
    await node.create(name, spec, **metadata)
    await node.until(name, lambda pod: pod["status"]["phase"] == "Running")


# --- files that change

UPDATED = {
    kept("ConfigMap updates should be reflected in volume"): "direct",
    kept("Projected configMap updates should be reflected in volume"): "projected",
}


@pytest.mark.parametrize("way", UPDATED.values(), ids=list(UPDATED))
def test_changes_are_seen(node: Node, way: str) -> None:
    name, client = f"changing-{way}", node.world.client

    async def run() -> str:
        await client.create(config_map(name, {"key": "one"}), kind=CONFIG_MAPS)
        script = until_equal("/v0/key", "one", "two")
        await runs(node, name, volume_pod(script, in_volume("configMap", way, name)))
        await client.patch(CONFIG_MAPS, name, {"data": {"key": "two"}}, NAMESPACE)
        return await node.said(name)

    assert node.run(run()) == "seen"


OPTIONAL = {
    kept("ConfigMap optional updates should be reflected in volume"): ("configMap", "direct"),
    kept("Projected configMap optional updates should be reflected in volume"): ("configMap", "projected"),
    kept("Secrets optional updates should be reflected in volume"): ("secret", "direct"),
    kept("Projected secret optional updates should be reflected in volume"): ("secret", "projected"),
}


@pytest.mark.parametrize(("kind", "way"), OPTIONAL.values(), ids=list(OPTIONAL))
def test_optional_objects_come_and_go(node: Node, kind: str, way: str) -> None:
    resource, make, _ = KINDS[kind]
    pod, client = f"optional-{kind}-{way}".lower(), node.world.client
    # What is deleted disappears where it is optional.
    seen = {"deleted": "", "updated": "two", "created": "new"}
    names = {what: f"{way}-{what}" for what in seen}

    async def run() -> str:
        await client.create(make(names["deleted"], {"key": "value"}), kind=resource)
        await client.create(make(names["updated"], {"key": "one"}), kind=resource)
        volumes = [in_volume(kind, way, name, optional=True) for name in names.values()]
        scripts = [until_equal(f"/v{number}/key", text) for number, text in enumerate(seen.values())]
        await runs(node, pod, volume_pod("; ".join(scripts), *volumes))
        await client.delete(resource, names["deleted"], NAMESPACE)
        await client.create(make(names["created"], {"key": "new"}), kind=resource)
        data = make("", {"key": "two"})["data"]
        await client.patch(resource, names["updated"], {"data": data}, NAMESPACE)
        return await node.said(pod)

    assert node.run(run()) == "seen" * len(seen)


MODIFIED = {
    kept(f"{title} should update {what} on modification"): (way, what)
    for title, way in (("Downward API volume", "direct"), ("Projected downwardAPI", "projected"))
    for what in ("labels", "annotations")
}


@pytest.mark.parametrize(("way", "what"), MODIFIED.values(), ids=list(MODIFIED))
def test_a_pod_sees_its_own_changes(node: Node, way: str, what: str) -> None:
    name = f"modified-{way}-{what}"
    item = {"path": "file", "fieldRef": {"fieldPath": f"metadata.{what}['key']"}}
    direct: Object = {"downwardAPI": {"items": [item]}}
    volume = direct if way == "direct" else {"projected": {"sources": [direct]}}

    async def run() -> str:
        await runs(node, name, volume_pod(until_equal("/v0/file", "a", "b"), volume), **{what: {"key": "a"}})
        await node.world.client.patch(PODS, name, {"metadata": {what: {"key": "b"}}}, NAMESPACE)
        return await node.said(name)

    assert node.run(run()) == "seen"


# --- many volumes


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
