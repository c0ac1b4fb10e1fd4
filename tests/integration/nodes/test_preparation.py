"""What containers are made of on a node that runs them: volumes and variables, as they come and change."""

from __future__ import annotations

import logging
import os
from base64 import b64encode
from pathlib import Path
from typing import Any

import orjson

from steersman.cluster.node.cri import ContainerConfig
from steersman.objects.conditions import find_condition
from steersman.objects.resource_type import ResourceType
from steersman.objects.resources import (
    CONFIG_MAPS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    PODS,
    SECRETS,
    SERVICE_ACCOUNTS,
    SERVICES,
)
from steersman.testing import eventually

from .prepared_world import (
    NAMESPACE,
    PATIENCE_S,
    Object,
    PreparedWorld,
    run_agent,
    with_prepared_node,
)

TRUST_BUNDLES = ResourceType(
    "certificates.k8s.io", "v1", "ClusterTrustBundle", "clustertrustbundles", namespaced=False
)


async def config_map(world: PreparedWorld, name: str, immutable: bool = False, **data: str) -> None:
    body = {"metadata": {"name": name, "namespace": NAMESPACE}, "data": data, "immutable": immutable}
    await world.client.create(body, kind=CONFIG_MAPS)


async def change(world: PreparedWorld, name: str, **data: str | None) -> None:
    await world.client.patch(CONFIG_MAPS, name, {"data": data}, NAMESPACE)


def mounted(config: ContainerConfig, path: str) -> Path:
    return next(Path(mount.host_path) for mount in config.mounts if mount.container_path == path)


def content(folder: Path) -> dict[str, str]:
    return {name: (folder / name).read_text() for name in os.listdir(folder) if not name.startswith("..")}


@with_prepared_node
async def test_objects_are_files_and_change_with_them(world: PreparedWorld) -> None:
    await config_map(world, "cm", a="1", b="2")
    secret = {
        "metadata": {"name": "sec", "namespace": NAMESPACE},
        "data": {"key": b64encode(b"s").decode()},
    }
    await world.client.create(secret, kind=SECRETS)
    pod = await world.create(
        "p",
        {"name": "cm", "configMap": {"name": "cm"}},
        {"name": "sec", "secret": {"secretName": "sec", "defaultMode": 0o400}},
        {
            "name": "all",
            "projected": {"sources": [{"configMap": {"name": "cm"}}, {"secret": {"name": "sec"}}]},
        },
    )
    made = await world.running("p")
    volumes = world.folder / "pods" / pod["metadata"]["uid"] / "volumes"
    assert mounted(made, "/mnt/cm") == volumes / "kubernetes.io~configmap/cm"
    assert content(mounted(made, "/mnt/cm")) == {"a": "1", "b": "2"}
    assert content(mounted(made, "/mnt/sec")) == {"key": "s"}
    assert (mounted(made, "/mnt/sec") / "key").stat().st_mode & 0o777 == 0o400
    assert content(mounted(made, "/mnt/all")) == {"a": "1", "b": "2", "key": "s"}
    assert {mount.readonly for mount in made.mounts if mount.container_path.startswith("/mnt")} == {True}

    began = world.clock.monotonic()
    await change(world, "cm", a="changed", b=None)
    await eventually(lambda: content(mounted(made, "/mnt/cm")) == {"a": "changed"})
    await eventually(lambda: content(mounted(made, "/mnt/all")) == {"a": "changed", "key": "s"})
    assert world.clock.monotonic() - began < 2

    await world.client.delete(CONFIG_MAPS, "cm", NAMESPACE)
    await world.clock.sleep(5)
    assert content(mounted(made, "/mnt/cm")) == {"a": "changed"}

    await world.delete("p")
    await eventually(lambda: world.folders() == [])
    assert len(world.services.preparation.references) == 0


@with_prepared_node
async def test_a_pod_waits_for_what_it_needs_and_goes_on_when_it_comes(world: PreparedWorld) -> None:
    await world.create("p", {"name": "v", "configMap": {"name": "late"}})
    told = await world.told("p", "FailedMount")
    assert told == 'MountVolume.SetUp failed for volume "v" : configmap "late" not found'
    await world.waiting("p", "ContainerCreating")
    await world.clock.sleep(30)
    began = world.clock.monotonic()
    await config_map(world, "late", a="1")
    made = await world.running("p")
    assert world.clock.monotonic() - began < 2
    assert content(mounted(made, "/mnt/v")) == {"a": "1"}


@with_prepared_node
async def test_what_is_optional_may_come_later(world: PreparedWorld) -> None:
    await world.create("p", {"name": "v", "configMap": {"name": "late", "optional": True}})
    made = await world.running("p")
    assert content(mounted(made, "/mnt/v")) == {}
    await config_map(world, "late", a="1")
    await eventually(lambda: content(mounted(made, "/mnt/v")) == {"a": "1"})


@with_prepared_node
async def test_immutable_objects_are_not_watched(world: PreparedWorld) -> None:
    await config_map(world, "fixed", immutable=True, a="1")
    await world.create("p", {"name": "v", "configMap": {"name": "fixed"}})
    made = await world.running("p")
    await world.client.delete(CONFIG_MAPS, "fixed", NAMESPACE)
    await config_map(world, "fixed", a="2")
    await world.clock.sleep(5)
    assert content(mounted(made, "/mnt/v")) == {"a": "1"}


@with_prepared_node
async def test_a_pod_is_shown_its_labels_as_they_change(world: PreparedWorld) -> None:
    items = [
        {"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}},
        {"path": "cpu", "resourceFieldRef": {"containerName": "main", "resource": "limits.cpu"}},
    ]
    await world.create("p", {"name": "v", "downwardAPI": {"items": items}}, metadata={"labels": {"a": "1"}})
    made = await world.running("p")
    assert content(mounted(made, "/mnt/v")) == {"labels": 'a="1"', "cpu": "4"}
    await world.client.patch(PODS, "p", {"metadata": {"labels": {"a": "2"}}}, NAMESPACE)
    await eventually(lambda: content(mounted(made, "/mnt/v"))["labels"] == 'a="2"')


@with_prepared_node
async def test_tokens_are_renewed_in_time(world: PreparedWorld) -> None:
    account = {"metadata": {"name": "robot", "namespace": NAMESPACE}}
    await world.client.create(account, kind=SERVICE_ACCOUNTS)
    source = {"path": "token", "audience": "vault", "expirationSeconds": 1000}
    await world.create(
        "p",
        {"name": "v", "projected": {"sources": [{"serviceAccountToken": source}]}},
        serviceAccountName="robot",
    )
    token = mounted(await world.running("p"), "/mnt/v") / "token"
    first = token.read_text()
    review = {"spec": {"token": first, "audiences": ["vault"]}}
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    status = orjson.loads(await world.client.request("POST", path, body=review))["status"]
    assert status["user"]["username"] == f"system:serviceaccount:{NAMESPACE}:robot"
    assert status["user"]["extra"]["authentication.kubernetes.io/pod-name"] == ["p"]
    await world.clock.sleep(780)
    assert token.read_text() == first
    await world.clock.sleep(40)
    assert token.read_text() != first


@with_prepared_node
async def test_a_later_agent_finds_everything_as_it_was(world: PreparedWorld) -> None:
    await config_map(world, "cm", a="1")
    account = {"metadata": {"name": "robot", "namespace": NAMESPACE}}
    await world.client.create(account, kind=SERVICE_ACCOUNTS)
    token: Object = {"serviceAccountToken": {"path": "token"}}
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "cm"}}, token]}}
    scratch: Object = {"name": "scratch", "emptyDir": {}}
    await world.create("p", volume, scratch, serviceAccountName="robot")
    made = await world.running("p")
    folder = mounted(made, "/mnt/v")
    (mounted(made, "/mnt/scratch") / "kept").write_text("x")
    stamped = os.readlink(folder / "..data")
    world.manager.stop()

    async def later() -> None:
        await world.clock.sleep(5)
        assert os.readlink(folder / "..data") == stamped
        assert "gone" not in world.folders()
        await change(world, "cm", a="2")
        await eventually(lambda: (folder / "a").read_text() == "2")
        assert content(mounted(made, "/mnt/scratch")) == {"kept": "x"}
        await world.delete("p")
        await eventually(lambda: world.folders() == [])

    # Of a pod that went away meanwhile.
    orphan = world.folder / "pods/gone/volumes/kubernetes.io~empty-dir/v"
    orphan.mkdir(parents=True)
    world.start_agent()
    await run_agent(world, later())


@with_prepared_node
async def test_variables_come_from_everywhere(world: PreparedWorld) -> None:
    await config_map(world, "cm", a="1", b="2")
    service = {
        "metadata": {"name": "db", "namespace": NAMESPACE},
        "spec": {"ports": [{"port": 5432}], "clusterIP": "10.96.3.4"},
    }
    await world.client.create(service, kind=SERVICES)
    env = [
        {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "b"}}},
        {"name": "BOTH", "value": "$(B)-$(P_a)-$(DB_SERVICE_HOST)"},
        {"name": "AT", "value": "$(POD_IP):80"},
    ]
    container = {
        "env": env,
        "envFrom": [{"prefix": "P_", "configMapRef": {"name": "cm"}}],
        "command": ["serve", "--at=$(IP)", "$$(IP)"],
        "args": ["$(NONE)"],
        "workingDir": "/srv",
    }
    await world.create("p", container=container, hostname="web")
    made = await world.running("p")
    ip = (await world.until("p", lambda pod: pod["status"].get("podIP")))["status"]["podIP"]
    assert made.command == ("serve", f"--at={ip}", "$(IP)")
    assert made.args == ("$(NONE)",)
    assert made.working_dir == "/srv"
    expected = {
        "IP": ip,
        "POD_IP": ip,
        "HOSTNAME": "web",
        "B": "2",
        "P_b": "2",
        "BOTH": "2-1-10.96.3.4",
        "AT": f"{ip}:80",
    }
    assert expected.items() <= made.env.items()
    api = (await world.client.get(SERVICES, "kubernetes", "default"))["spec"]["clusterIP"]
    assert (made.env["KUBERNETES_SERVICE_HOST"], made.env["KUBERNETES_SERVICE_PORT"]) == (api, "443")


@with_prepared_node
async def test_a_container_waits_for_what_its_variables_come_from(world: PreparedWorld) -> None:
    source: Object = {"configMapKeyRef": {"name": "late", "key": "k"}}
    await world.create("p", container={"env": [{"name": "X", "valueFrom": source}]})
    assert await world.waiting("p", "CreateContainerConfigError") == 'configmap "late" not found'
    assert await world.told("p", "Failed") == 'Error: configmap "late" not found'
    await config_map(world, "late", a="1")
    await world.until("p", lambda pod: "couldn't find key k in ConfigMap shop/late" in str(pod["status"]))
    await change(world, "late", k="v")
    assert (await world.running("p")).env["X"] == "v"


@with_prepared_node
async def test_pods_have_hosts_and_a_resolver(world: PreparedWorld) -> None:
    aliases = [{"ip": "192.0.2.9", "hostnames": ["old.example"]}]
    await world.create("p", subdomain="all", hostAliases=aliases)
    made = await world.running("p")
    ip = made.env["POD_IP"]
    hosts = mounted(made, "/etc/hosts").read_text()
    assert f"{ip}\tp.all.shop.svc.cluster.local\tp\n" in hosts
    assert "192.0.2.9\told.example\n" in hosts
    assert mounted(made, "/etc/resolv.conf").read_text() == (
        "search shop.svc.cluster.local svc.cluster.local cluster.local example.com\n"
        "nameserver 10.96.0.10\noptions ndots:5\n"
    )
    await world.create("h", hostNetwork=True)
    made = await world.running("h")
    assert (made.env["POD_IP"], made.env["HOSTNAME"]) == ("172.18.0.2", "node-1")
    assert mounted(made, "/etc/hosts").read_text() == (
        "# Kubernetes-managed hosts file (host network).\n127.0.0.1 machine\n"
    )
    assert "192.0.2.1" in mounted(made, "/etc/resolv.conf").read_text()


@with_prepared_node
async def test_names_of_services_are_kept_in_the_hosts_of_pods_that_run(world: PreparedWorld) -> None:
    world.names.change(NAMESPACE, "10.96.0.7\tweb.shop web")
    await world.create("p")
    hosts = mounted(await world.running("p"), "/etc/hosts")
    assert hosts.read_text().endswith("\n# Services of the cluster.\n10.96.0.7\tweb.shop web\n")
    await world.create("own", dnsPolicy="Default")
    await world.until("own", lambda pod: pod["status"]["phase"] == "Running")
    others = mounted(world.engine.made[-1], "/etc/hosts")
    world.names.change(NAMESPACE, "10.96.0.8\tdb.shop db")
    await eventually(lambda: "10.96.0.8\tdb.shop db\n" in hosts.read_text(), PATIENCE_S)
    assert "web" not in hosts.read_text()
    assert "Services of the cluster" not in others.read_text()


async def claim(world: PreparedWorld, name: str, **spec: Any) -> None:
    asked: Object = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    made = {"metadata": {"name": name, "namespace": NAMESPACE}, "spec": asked}
    await world.client.create(made, kind=PERSISTENT_VOLUME_CLAIMS)


async def bind(world: PreparedWorld, name: str, source: Object) -> None:
    """Give a claim its volume, as the controllers do."""
    patch = {"spec": {"volumeName": f"pv-{name}"}}
    found = await world.client.patch(PERSISTENT_VOLUME_CLAIMS, name, patch, NAMESPACE)
    spec = {
        "accessModes": ["ReadWriteOnce"],
        "capacity": {"storage": "1Gi"},
        "claimRef": {"namespace": NAMESPACE, "name": name, "uid": found["metadata"]["uid"]},
        "volumeMode": found["spec"]["volumeMode"],
        **source,
    }
    await world.client.create({"metadata": {"name": f"pv-{name}"}, "spec": spec}, kind=PERSISTENT_VOLUMES)
    bound = {"status": {"phase": "Bound"}}
    await world.client.patch(PERSISTENT_VOLUME_CLAIMS, name, bound, NAMESPACE, subresource="status")


def of_claim(name: str, *, readonly: bool = False) -> Object:
    return {"name": "v", "persistentVolumeClaim": {"claimName": name, "readOnly": readonly}}


@with_prepared_node
async def test_a_claim_is_a_folder_once_it_is_bound(world: PreparedWorld) -> None:
    await claim(world, "data")
    await world.create("p", of_claim("data"))
    assert await world.told("p", "FailedMount") == (
        "Unable to attach or mount volumes: unmounted volumes=[v], unattached volumes=[], "
        "failed to process volumes=[v]: error processing PVC shop/data: PVC is not bound"
    )
    await bind(world, "data", {"hostPath": {"path": str(world.folder / "pv")}})
    made = await world.running("p")
    assert mounted(made, "/mnt/v") == world.folder / "pv"
    (world.folder / "pv/kept").write_text("x")
    await world.delete("p")
    await world.create("q", of_claim("data", readonly=True))
    made = await world.running("q")
    assert content(mounted(made, "/mnt/v")) == {"kept": "x"}
    assert next(mount for mount in made.mounts if mount.container_path == "/mnt/v").readonly


@with_prepared_node
async def test_volumes_that_this_node_cannot_have_are_refused_with_a_sentence(world: PreparedWorld) -> None:
    await claim(world, "block", volumeMode="Block")
    await bind(world, "block", {"hostPath": {"path": "/dev/null"}})
    await claim(world, "far")
    await bind(world, "far", {"nfs": {"server": "x", "path": "/"}})
    refused: dict[str, tuple[Object, str]] = {
        "nfs": ({"nfs": {"server": "x", "path": "/"}}, "this node has no volumes of type nfs"),
        "block": (of_claim("block"), "volume v has volumeMode Block, but is specified in volumeMounts"),
        "far": (
            of_claim("far"),
            "persistent volume pv-far is of type nfs: this node has only hostPath and local volumes",
        ),
        "file": (
            {"hostPath": {"path": str(world.folder), "type": "File"}},
            f"hostPath type check failed: {world.folder} is not a file, it's a Directory",
        ),
        "image": ({"image": {"reference": "none"}}, "this node has no image none that is a folder"),
    }
    for name, (volume, problem) in refused.items():
        await world.create(name, {**volume, "name": "v"})
        told = await world.told(name, "FailedMount")
        assert told == f'MountVolume.SetUp failed for volume "v" : {problem}'


@with_prepared_node
async def test_a_folder_that_is_an_image_can_be_seen(world: PreparedWorld) -> None:
    (world.folder / "images/models/v1").mkdir(parents=True)
    await world.create("p", {"name": "v", "image": {"reference": "models"}}, container={
        "volumeMounts": [{"name": "v", "mountPath": "/m", "subPath": "v1"}]})  # fmt: skip
    made = await world.running("p")
    assert mounted(made, "/m") == world.folder / "images/models/v1"


@with_prepared_node
async def test_a_pod_that_fills_its_scratch_volume_is_evicted(world: PreparedWorld) -> None:
    await world.create("p", {"name": "v", "emptyDir": {"sizeLimit": "64Ki"}})
    made = await world.running("p")
    await world.clock.sleep(30)
    (mounted(made, "/mnt/v") / "large").write_bytes(os.urandom(128 << 10))
    pod = await world.until("p", lambda pod: pod["status"]["phase"] == "Failed")
    assert (pod["status"]["reason"], pod["status"]["message"]) == (
        "Evicted",
        'Usage of EmptyDir volume "v" exceeds the limit "64Ki". ',
    )
    assert await world.told("p", "Evicted") == pod["status"]["message"]
    assert find_condition(pod["status"]["conditions"], "DisruptionTarget") is None
    await eventually(lambda: world.folders() == [])


@with_prepared_node
async def test_parts_of_volumes_can_be_named_by_variables(world: PreparedWorld) -> None:
    container = {
        "env": [{"name": "POD", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
        "volumeMounts": [{"name": "v", "mountPath": "/logs", "subPathExpr": "$(POD)/logs"}],
    }
    await world.create("p", {"name": "v", "emptyDir": {}}, container=container)
    assert mounted(await world.running("p"), "/logs").parts[-2:] == ("p", "logs")


@with_prepared_node
async def test_trust_bundles_are_files(world: PreparedWorld) -> None:
    certificate = world.cluster.authority.pem.decode()
    for name, signer, labels in (("plain", "", {}), ("example.com:a:1", "example.com/a", {"x": "y"})):
        spec = {"trustBundle": f"comment\n{certificate}", **({"signerName": signer} if signer else {})}
        bundle = {"metadata": {"name": name, "labels": labels}, "spec": spec}
        await world.client.create(bundle, kind=TRUST_BUNDLES)
    sources: list[Object] = [
        {"path": "by-name", "name": "plain"},
        {"path": "by-signer", "signerName": "example.com/a", "labelSelector": {"matchLabels": {"x": "y"}}},
        {"path": "none", "name": "none", "optional": True},
    ]
    parts = [{"clusterTrustBundle": source} for source in sources]
    await world.create("p", {"name": "v", "projected": {"sources": parts}})
    expected = {"by-name": certificate, "by-signer": certificate, "none": ""}
    assert content(mounted(await world.running("p"), "/mnt/v")) == expected


@with_prepared_node
async def test_folders_that_a_pod_has_locked_are_removed_too(world: PreparedWorld) -> None:
    await world.create("p", {"name": "v", "emptyDir": {}})
    locked = mounted(await world.running("p"), "/mnt/v") / "locked"
    (locked / "inner").mkdir(parents=True)
    locked.chmod(0)
    await world.delete("p")
    await eventually(lambda: world.folders() == [])


@with_prepared_node
async def test_a_container_that_comes_later_may_refer_to_more(world: PreparedWorld) -> None:
    await world.create("p")
    await world.running("p")
    await config_map(world, "more", a="1")
    debugger = {"name": "debug", "image": "app:1", "envFrom": [{"configMapRef": {"name": "more"}}]}
    patch = {"spec": {"ephemeralContainers": [debugger]}}
    await world.client.patch(PODS, "p", patch, NAMESPACE, type="strategic", subresource="ephemeralcontainers")
    await eventually(lambda: len(world.engine.made) == 2)
    assert world.engine.made[-1].env["a"] == "1"


@with_prepared_node
async def test_what_cannot_be_renewed_is_tried_again_now_and_then(world: PreparedWorld) -> None:
    await config_map(world, "cm", a="1")
    await world.client.create({"metadata": {"name": "robot", "namespace": NAMESPACE}}, kind=SERVICE_ACCOUNTS)
    token: Object = {"serviceAccountToken": {"path": "token", "expirationSeconds": 600}}
    volume = {"name": "v", "projected": {"sources": [{"configMap": {"name": "cm"}}, token]}}
    await world.create("p", volume, serviceAccountName="robot")
    path = mounted(await world.running("p"), "/mnt/v") / "token"
    first = path.read_text()
    await world.client.delete(CONFIG_MAPS, "cm", NAMESPACE)
    told: list[logging.LogRecord] = []
    handler = logging.Handler()
    handler.emit = told.append  # type: ignore[method-assign]
    log = logging.getLogger("steersman.cluster.node.volumes.pod_volumes")
    log.addHandler(handler)
    try:
        await world.clock.sleep(600)
    finally:
        log.removeHandler(handler)
    assert path.read_text() == first
    assert 10 <= len(told) <= 30
    await config_map(world, "cm", a="2")
    await eventually(lambda: path.read_text() != first)


@with_prepared_node
async def test_variables_may_come_from_files(world: PreparedWorld) -> None:
    reference = {"volumeName": "v", "path": "env", "key": "HELLO"}
    container = {"env": [{"name": "X", "valueFrom": {"fileKeyRef": reference}}], "volumeMounts": []}
    await world.create("p", {"name": "v", "emptyDir": {}}, container=container)
    await world.waiting("p", "CreateContainerConfigError")
    pod = await world.client.get(PODS, "p", NAMESPACE)
    scratch = world.folder / "pods" / pod["metadata"]["uid"] / "volumes/kubernetes.io~empty-dir/v"
    (scratch / "env").write_text("HELLO='world'")
    assert (await world.running("p")).env["X"] == "world"


@with_prepared_node
async def test_an_object_is_looked_at_once_for_all_pods_that_need_it(world: PreparedWorld) -> None:
    await config_map(world, "cm", a="1")
    references = world.services.preparation.references
    volume: Object = {"name": "v", "configMap": {"name": "cm"}}
    made = []
    for name in ("p", "q"):
        await world.create(name, volume, container={"envFrom": [{"configMapRef": {"name": "cm"}}]})
        made.append(await world.running(name))
    assert len(references) == 1
    await change(world, "cm", a="2")
    for one in made:
        await eventually(lambda one=one: content(mounted(one, "/mnt/v")) == {"a": "2"})
    await world.delete("p")
    assert len(references) == 1
    await world.delete("q")
    await eventually(lambda: len(references) == 0)
