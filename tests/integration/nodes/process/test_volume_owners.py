"""Programs that are not root find volumes that they may use: as Kubernetes gives them, for every kind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from steersman.cluster.local import ClusterConfig, LocalCluster
from steersman.objects.resources import CONFIG_MAPS, PODS, SECRETS, STATEFUL_SETS
from steersman.testing import eventually

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(120),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root may run programs as others"),
]

Object = dict[str, Any]

NAMESPACE = "default"
PATIENCE_S = 60.0
USER, GROUP, FURTHER = 51000, 52000, 53000
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_VOLUMES: dict[str, Object] = {
    "scratch": {"emptyDir": {}},
    "memory": {"emptyDir": {"medium": "Memory"}},
    "config": {"configMap": {"name": "some"}},
    "secret": {"secret": {"secretName": "some", "defaultMode": 0o400}},
    "names": {"downwardAPI": {"items": [{"path": "key", "fieldRef": {"fieldPath": "metadata.name"}}]}},
    "token": {"projected": {"sources": [{"serviceAccountToken": {"path": "key"}}]}},
}
_WRITABLE = ("data", "scratch", "memory", "part")
_SCRIPT = f"""
umask 022
for each in {" ".join(_WRITABLE)}; do
    echo "$each $(stat -c %a:%u:%g /$each)"
    echo x > /$each/file
    echo "$each/file $(stat -c %a:%u:%g /$each/file)"
done
for each in config secret names token; do
    echo "$each/key $(stat -Lc %a:%u:%g /$each/key)"
done
echo "account $(stat -Lc %a:%u:%g {_ACCOUNT}/token)"
echo "groups $(id -G | tr ' ' ,)"
echo "host $(stat -c %a:%u:%g /host)"
echo "end of it" > /dev/stdout
echo "and of errors" > /dev/stderr
exec sleep 1000
"""


def stateful_set(name: str, host: Path, context: Object) -> Object:
    mounts = [{"name": each, "mountPath": f"/{each}"} for each in ("data", "host", *_VOLUMES)]
    mounts.append({"name": "data", "mountPath": "/part", "subPath": "deep/er"})
    volumes = [{"name": each, **source} for each, source in _VOLUMES.items()]
    volumes.append({"name": "host", "hostPath": {"path": str(host)}})
    container = {
        "name": "main",
        "image": "host/sh",
        "command": ["sh", "-c", _SCRIPT],
        "volumeMounts": mounts,
    }
    labels = {"app": name}
    pod = {
        "securityContext": context,
        "containers": [container],
        "volumes": volumes,
        "terminationGracePeriodSeconds": 0,
    }
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Mi"}}}
    return {
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "serviceName": name,
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": pod},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": claim}],
        },
    }


async def look(cluster: LocalCluster, name: str, host: Path, context: Object) -> dict[str, str]:
    """What a program finds: the modes and owners of its volumes and of what it writes there."""
    client = cluster.client()
    await client.create(stateful_set(name, host, context), kind=STATEFUL_SETS)

    async def said() -> str:
        log = await client.request("GET", f"/api/v1/namespaces/{NAMESPACE}/pods/{name}-0/log")
        return log.decode() if b"and of errors" in log else ""

    lines = (await eventually(said, PATIENCE_S, what=f"what {name} says")).splitlines()
    return dict(line.split(" ", 1) for line in lines)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict[str, str]]]:
    """By kind of pod: what is found at each place."""
    data, host = tmp_path_factory.mktemp("data"), tmp_path_factory.mktemp("host")
    host.chmod(0o755)
    before = os.umask(0o077)

    async def main() -> dict[str, dict[str, str]]:
        config = ClusterConfig(data=str(data), controllers=("all",), process_nodes=1)
        async with LocalCluster(config) as cluster:
            client = cluster.client()
            some = {"metadata": {"name": "some", "namespace": NAMESPACE}}
            await client.create({**some, "data": {"key": "value"}}, kind=CONFIG_MAPS)
            await client.create({**some, "stringData": {"key": "value"}}, kind=SECRETS)
            user = {"runAsUser": USER, "runAsGroup": USER}
            both = await look(
                cluster, "group", host, {**user, "fsGroup": GROUP, "supplementalGroups": [FURTHER]}
            )
            alone = await look(cluster, "user", host, user)
            await client.delete_collection(PODS, NAMESPACE)
            return {"group": both, "user": alone}

    try:
        yield asyncio.run(main())
    finally:
        os.umask(before)
    assert str(data) not in Path("/proc/self/mounts").read_text(), "something was left mounted"


@pytest.mark.parametrize("place", _WRITABLE)
def test_a_group_owns_what_pods_may_write_to(found: dict[str, dict[str, str]], place: str) -> None:
    assert found["group"][place] == f"2777:0:{GROUP}"
    assert found["group"][f"{place}/file"] == f"644:{USER}:{GROUP}"


@pytest.mark.parametrize("place", _WRITABLE)
def test_without_a_group_anybody_may_write(found: dict[str, dict[str, str]], place: str) -> None:
    assert found["user"][place] == "777:0:0"
    assert found["user"][f"{place}/file"] == f"644:{USER}:{USER}"


@pytest.mark.parametrize(
    ("place", "group", "user"),
    [
        ("config/key", f"644:0:{GROUP}", "644:0:0"),
        ("secret/key", f"440:0:{GROUP}", "400:0:0"),
        ("names/key", f"644:0:{GROUP}", "644:0:0"),
        ("token/key", f"640:{USER}:{GROUP}", f"600:{USER}:0"),
        ("account", f"640:{USER}:{GROUP}", f"600:{USER}:0"),
        ("host", "755:0:0", "755:0:0"),
        ("groups", f"{USER},{GROUP},{FURTHER}", f"{USER}"),
    ],
)
def test_what_pods_only_read(found: dict[str, dict[str, str]], place: str, group: str, user: str) -> None:
    assert ",".join(sorted(found["group"][place].split(","))) == group
    assert found["user"][place] == user


def test_a_program_that_is_not_root_may_open_its_standard_streams(found: dict[str, dict[str, str]]) -> None:
    assert found["user"]["end"] == "of it"
    assert found["user"]["and"] == "of errors"
