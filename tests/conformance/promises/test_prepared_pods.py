"""Promises about volumes and variables of pods: a program says what it finds, and that is compared."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from steersman.objects.resources import CONFIG_MAPS, NAMESPACES, NODES, SECRETS, SERVICES
from tests.recordings import FACTS

from .prepared import (
    KEPT,
    NAMESPACE,
    Node,
    Object,
    config_map,
    kept,
    make_objects,
    running_node,
    secret,
    volume_pod,
)

ROOT = os.geteuid() == 0


class Promise(NamedTuple):
    name: str
    spec: Object
    #: What the program says, or an expression that matches it.
    says: str | re.Pattern[str]
    metadata: Object = {}  # noqa: RUF012 - never changed


def promise(name: str, spec: Object, says: str | re.Pattern[str], **metadata: Any) -> Promise:
    return Promise(kept(name), spec, says, metadata)


def as_user(user: int, **context: Any) -> Object:
    return {"securityContext": {"runAsUser": user, **context}}


def shown(path: str) -> str:
    """A script that says what a file has in it, and its mode."""
    return f"cat {path}; echo; stat -Lc %a {path}"


MODE: Object = {"defaultMode": 0o400}


def config_map_promises(title: str, source: Any) -> Iterator[Promise]:
    """`source` makes a volume of the ConfigMap's, given items and a mode."""
    mapped = [{"key": "data-2", "path": "path/to/data-2"}]
    moded = [{**mapped[0], "mode": 0o400}]
    first, second = f"{title} should be consumable from pods in volume", "/v0/path/to/data-2"
    yield promise(first, volume_pod(shown("/v0/data-1"), source()), "value-1\n644")
    yield promise(
        f"{first} with defaultMode set", volume_pod(shown("/v0/data-1"), source(**MODE)), "value-1\n400"
    )
    yield promise(f"{first} with mappings", volume_pod(shown(second), source(items=mapped)), "value-2\n644")
    yield promise(
        f"{first} with mappings and Item mode set",
        volume_pod(shown(second), source(items=moded)),
        "value-2\n400",
    )
    yield promise(
        f"{title} should be consumable in multiple volumes in the same pod",
        volume_pod("cat /v0/data-1 /v1/data-1", source(), source()),
        "value-1value-1",
    )
    if ROOT:
        yield promise(
            f"{first} as non-root",
            volume_pod("id -u; cat /v0/data-1", source(), **as_user(1000)),
            "1000\nvalue-1",
        )
        yield promise(
            f"{first} with mappings as non-root",
            volume_pod(f"cat {second}", source(items=mapped), **as_user(1000)),
            "value-2",
        )


def secret_promises(title: str, source: Any) -> Iterator[Promise]:
    mapped = [{"key": "data-1", "path": "new-path-data-1"}]
    moded = [{**mapped[0], "mode": 0o400}]
    first, second = f"{title} should be consumable from pods in volume", "/v0/new-path-data-1"
    yield promise(first, volume_pod(shown("/v0/data-1"), source()), "value-1\n644")
    yield promise(
        f"{first} with defaultMode set", volume_pod(shown("/v0/data-1"), source(**MODE)), "value-1\n400"
    )
    yield promise(f"{first} with mappings", volume_pod(shown(second), source(items=mapped)), "value-1\n644")
    yield promise(
        f"{first} with mappings and Item Mode set",
        volume_pod(shown(second), source(items=moded)),
        "value-1\n400",
    )
    yield promise(
        f"{title} should be consumable in multiple volumes in a pod",
        volume_pod("cat /v0/data-1 /v1/data-1", source(), source()),
        "value-1value-1",
    )
    if ROOT:
        yield promise(
            f"{first} as non-root with defaultMode and fsGroup set",
            volume_pod(shown("/v0/data-1"), source(defaultMode=0o440), **as_user(1000, fsGroup=1001)),
            "value-1\n440",
        )


#: Small enough for all pods that ask for it to run on one processor at once: they are put on the node without a
#: scheduler, and a node refuses what does not fit.
RESOURCES: Object = {
    "requests": {"cpu": "25m", "memory": "32Mi"},
    "limits": {"cpu": "1250m", "memory": "64Mi"},
}


def downward_promises(title: str, source: Any) -> Iterator[Promise]:
    """`source` makes a volume of files."""

    def resource(which: str, divisor: str, **container: Any) -> Object:
        reference = {"containerName": "main", "resource": which, "divisor": divisor}
        item = {"path": "file", "resourceFieldRef": reference}
        return volume_pod("cat /v0/file", source([item]), container=container)

    for which, divisor, says in (
        ("cpu limit", "1m", "1250"),
        ("cpu request", "1m", "25"),
        ("memory limit", "1", str(64 << 20)),
        ("memory request", "1Mi", "32"),
    ):
        kind, side = which.split()
        spec = resource(f"{side}s.{kind}", divisor, resources=RESOURCES)
        yield promise(f"{title} should provide container's {which}", spec, says)
    for kind in ("cpu", "memory"):
        yield promise(
            f"{title} should provide node allocatable ({kind}) as default {kind} limit if the limit is not set",
            resource(f"limits.{kind}", "1"),
            re.compile("[1-9][0-9]*"),
        )
    name = {"path": "file", "fieldRef": {"fieldPath": "metadata.name"}}
    own = re.compile("p[0-9]+")
    moded = re.compile("p[0-9]+\n400")
    yield promise(f"{title} should provide podname only", volume_pod("cat /v0/file", source([name])), own)
    yield promise(
        f"{title} should set DefaultMode on files",
        volume_pod(shown("/v0/file"), source([name], **MODE)),
        moded,
    )
    item = {**name, "mode": 0o400}
    yield promise(
        f"{title} should set mode on item file", volume_pod(shown("/v0/file"), source([item])), moded
    )


def projected(*sources: Object, **fields: Any) -> Object:
    return {"projected": {"sources": list(sources), **fields}}


def projected_items(kind: str, name: str) -> Any:
    def source(items: Any = (), **fields: Any) -> Object:
        return projected({kind: {"name": name, "items": list(items)}}, **fields)

    return source


def environment_promises() -> Iterator[Promise]:
    def container(script: str, **fields: Any) -> Object:
        return volume_pod(script, container=fields)

    def key(kind: str, name: str) -> list[Object]:
        return [{"name": "X", "valueFrom": {f"{kind}KeyRef": {"name": name, "key": "data-1"}}}]

    def prefixed(kind: str, name: str) -> list[Object]:
        prefixes = ("", "p-", "1-", "$_-", "p.")
        return [{"prefix": prefix, f"{kind}Ref": {"name": name}} for prefix in prefixes]

    say = 'echo "$X"'
    # A shell hands on only names that it understands itself. Written so that no variable is expanded.
    listed = "tr '\\0' '\\n' < /proc/$$$$/environ | grep data-1= | LC_ALL=C sort"
    everything = "$_-data-1=value-1\n1-data-1=value-1\ndata-1=value-1\np-data-1=value-1\np.data-1=value-1"
    yield promise(
        "ConfigMap should be consumable via environment variable",
        container(say, env=key("configMap", "cm")),
        "value-1",
    )
    yield promise(
        "Secrets should be consumable from pods in env vars",
        container(say, env=key("secret", "sec")),
        "value-1",
    )
    for title, kind, name, names in (
        ("ConfigMap", "configMap", "cm", "names with various prefixes"),
        ("Secrets", "secret", "sec", "names variable names with various prefixes"),
    ):
        whole = [{f"{kind}Ref": {"name": name}}]
        yield promise(
            f"{title} should be consumable via the environment",
            container(listed, envFrom=whole),
            "data-1=value-1",
        )
        yield promise(
            f"{title} should be consumable as environment variable {names}",
            container(listed, envFrom=prefixed(kind, name)),
            everything,
        )
    composed = [
        {"name": "FOO", "value": "foo-value"},
        {"name": "BAR", "value": "bar-value"},
        {"name": "FOOBAR", "value": "$(FOO);;$(BAR)"},
    ]
    yield promise(
        "Variable Expansion should allow composing env vars into new env vars",
        container('echo "$FOOBAR"', env=composed),
        "foo-value;;bar-value",
    )
    test = [{"name": "TEST_VAR", "value": "test-value"}]
    yield promise(
        "Variable Expansion should allow substituting values in a container's command",
        container('TEST_VAR=wrong; echo "$(TEST_VAR)"', env=test),
        "test-value",
    )
    spec = container("", env=test)
    words = ['echo "$(TEST_VAR)" > /dev/termination-log']
    spec["containers"][0] |= {"command": ["sh", "-c"], "args": words}
    yield promise(
        "Variable Expansion should allow substituting values in a container's args", spec, "test-value"
    )


def downward_variables() -> Iterator[Promise]:
    def spec(script: str, **fields: Any) -> Object:
        fields["env"] = [
            {"name": name, "valueFrom": {kind: source}} for name, (kind, source) in fields["env"].items()
        ]
        return volume_pod(script, container=fields)

    def path(name: str) -> tuple[str, Object]:
        return "fieldRef", {"fieldPath": name}

    def amount(name: str) -> tuple[str, Object]:
        return "resourceFieldRef", {"resource": name}

    ip = r"[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+"
    title = "Downward API should provide"
    yield promise(
        f"{title} pod name, namespace and IP address as env vars",
        spec(
            'echo "$N $S $I"',
            env={"N": path("metadata.name"), "S": path("metadata.namespace"), "I": path("status.podIP")},
        ),
        re.compile(f"p[0-9]+ {NAMESPACE} {ip}"),
    )
    yield promise(
        f"{title} host IP as an env var", spec('echo "$X"', env={"X": path("status.hostIP")}), re.compile(ip)
    )
    yield promise(
        f"{title} hostIPs as an env var", spec('echo "$X"', env={"X": path("status.hostIPs")}), re.compile(ip)
    )
    yield promise(
        f"{title} pod UID as env vars",
        spec('echo "$X"', env={"X": path("metadata.uid")}),
        re.compile("[0-9a-f-]{36}"),
    )
    names = ("limits.cpu", "limits.memory", "requests.cpu", "requests.memory")
    variables = {f"X{number}": amount(name) for number, name in enumerate(names)}
    yield promise(
        f"{title} container's limits.cpu/memory and requests.cpu/memory as env vars",
        spec('echo "$X0 $X1 $X2 $X3"', env=variables, resources=RESOURCES),
        f"2 {64 << 20} 1 {32 << 20}",
    )
    yield promise(
        f"{title} default limits.cpu/memory from node allocatable",
        spec('echo "$X0 $X1"', env=variables),
        re.compile("[1-9][0-9]* [1-9][0-9]*"),
    )


def empty_dir_promises() -> Iterator[Promise]:
    scratch: Object = {"emptyDir": {}}
    title = "EmptyDir volumes"
    yield promise(
        f"{title} volume on default medium should have the correct mode",
        volume_pod("stat -c %a /v0", scratch),
        "777",
    )
    media: dict[str, tuple[Object, str]] = {"default": (scratch, "true")}
    if ROOT:
        # A program says which file system it is on, if that is promised.
        memory: Object = {"emptyDir": {"medium": "Memory"}}
        media["tmpfs"] = (memory, '[ "$(stat -fc %T /v0)" = tmpfs ]')
        yield promise(
            f"{title} volume on tmpfs should have the correct mode",
            volume_pod("stat -fc %T /v0; stat -c %a /v0", memory),
            "tmpfs\n777",
        )
    for medium, (volume, check) in media.items():
        for user in ("root", "non-root") if ROOT else ("root",):
            for mode in ("0644", "0666", "0777"):
                script = f"umask 0; {check} || exit 1; echo x > /v0/f; chmod {mode} /v0/f; {shown('/v0/f')}"
                spec = volume_pod(script, volume, **(as_user(1001) if user == "non-root" else {}))
                says = re.compile(f"x\n+{mode[1:]}")
                yield promise(f"{title} should support ({user},{mode},{medium})", spec, says)
    shared = volume_pod("until cat /v0/f 2> /dev/null; do sleep 0.05; done", scratch)
    writer = {**shared["containers"][0], "name": "writer", "command": ["sh", "-c", "printf hello > /v0/f"]}
    shared["containers"].append(writer)
    yield promise(f"{title} pod should support shared volumes between containers", shared, "hello")
    yield promise(
        "EmptyDir wrapper volumes should not conflict",
        volume_pod(
            "cat /v0/data-1 /v1/data-1",
            {"secret": {"secretName": "sec"}},
            {"configMap": {"name": "cm"}},
            scratch,
        ),
        "value-1value-1",
    )


def sub_path_promises() -> Iterator[Promise]:
    """A part of a volume at a place of its own."""

    def spec(volume: Object, part: str, where: str = "/part") -> Object:
        mount = {"name": "v0", "mountPath": where, "subPath": part}
        return volume_pod(f"cat {where}", volume, container={"volumeMounts": [mount]})

    title = "Subpath Atomic writer volumes should support subpaths with"
    cm: Object = {"configMap": {"name": "cm"}}
    name = {"path": "podname", "fieldRef": {"fieldPath": "metadata.name"}}
    yield promise(f"{title} configmap pod", spec(cm, "data-1"), "value-1")
    yield promise(
        f"{title} configmap pod with mountPath of existing file",
        spec(cm, "data-1", "/etc/resolv.conf"),
        "value-1",
    )
    yield promise(f"{title} secret pod", spec({"secret": {"secretName": "sec"}}, "data-1"), "value-1")
    yield promise(
        f"{title} downward pod", spec({"downwardAPI": {"items": [name]}}, "podname"), re.compile("p[0-9]+")
    )
    yield promise(
        f"{title} projected pod", spec(projected({"configMap": {"name": "cm"}}), "data-1"), "value-1"
    )
    variables = [{"name": "POD_NAME", "value": "foo"}]
    expression = {"subPathExpr": "$(POD_NAME)"}
    both = [{"name": "v0", "mountPath": "/part", **expression}, {"name": "v0", "mountPath": "/whole"}]
    script = "echo x > /part/f; ls /whole"
    yield promise(
        "Variable Expansion should allow substituting values in a volume subpath",
        volume_pod(script, {"emptyDir": {}}, container={"volumeMounts": both, "env": variables}),
        "foo",
    )
    yield promise(
        "Variable Expansion should succeed in writing subpaths in container",
        volume_pod(f"{script}/foo", {"emptyDir": {}}, container={"volumeMounts": both, "env": variables}),
        "f",
    )


def other_promises() -> Iterator[Promise]:
    yield promise(
        "Projected combined should project all components that make up the projection API",
        volume_pod(
            "cat /v0/cm /v0/sec /v0/name",
            projected(
                {"configMap": {"name": "cm", "items": [{"key": "data-1", "path": "cm"}]}},
                {"secret": {"name": "sec", "items": [{"key": "data-2", "path": "sec"}]}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ),
        ),
        re.compile("value-1value-2p[0-9]+"),
    )
    yield promise(
        "ConfigMap binary data should be reflected in volume",
        volume_pod("od -An -tx1 /v0/dump.bin", {"configMap": {"name": "binary"}}),
        "de ca fe ba d0",
    )
    yield promise(
        "Secrets should be able to mount in a volume regardless of a different secret existing with same name "
        "in different namespace",
        volume_pod("cat /v0/data-1", {"secret": {"secretName": "same"}}),
        "ours",
    )
    aliases = [{"ip": "123.45.67.89", "hostnames": ["foo", "bar"]}]
    yield promise(
        "Kubelet when scheduling an agnhost Pod with hostAliases should write entries to /etc/hosts",
        volume_pod("tail -n 1 /etc/hosts", hostAliases=aliases),
        "123.45.67.89\tfoo\tbar",
    )
    yield promise(
        "Pods should contain environment variables for services",
        volume_pod("env | grep ^FOOSERVICE | sort"),
        re.compile(
            "FOOSERVICE_PORT=tcp://10.96.7.7:8765\nFOOSERVICE_PORT_8765_TCP=.*FOOSERVICE_SERVICE_HOST=10.96.7.7\n"
            "FOOSERVICE_SERVICE_PORT=8765",
            re.DOTALL,
        ),
    )


def direct(kind: str, name: str, value: str) -> Any:
    return lambda **fields: {kind: {name: value, **fields}}


PROMISES = [
    *config_map_promises("ConfigMap", direct("configMap", "name", "cm")),
    *config_map_promises("Projected configMap", projected_items("configMap", "cm")),
    *secret_promises("Secrets", direct("secret", "secretName", "sec")),
    *secret_promises("Projected secret", projected_items("secret", "sec")),
    *downward_promises(
        "Downward API volume", lambda items, **more: {"downwardAPI": {"items": items, **more}}
    ),
    *downward_promises(
        "Projected downwardAPI", lambda items, **more: projected({"downwardAPI": {"items": items}}, **more)
    ),
    *environment_promises(),
    *downward_variables(),
    *empty_dir_promises(),
    *sub_path_promises(),
    *other_promises(),
]


async def make_everything(node: Node) -> None:
    """All pods at once: each test waits for its own."""
    client = node.world.client
    await make_objects(node)
    await client.create(config_map("binary", {}, binaryData={"dump.bin": "3sr+utA="}), kind=CONFIG_MAPS)
    await client.create({"metadata": {"name": "elsewhere"}}, kind=NAMESPACES)
    await client.create(secret("same", {"data-1": "theirs"}, "elsewhere"), kind=SECRETS)
    await client.create(secret("same", {"data-1": "ours"}), kind=SECRETS)
    service = {"ports": [{"port": 8765}], "clusterIP": "10.96.7.7"}
    named = {"name": "fooservice", "namespace": NAMESPACE}
    await client.create({"metadata": named, "spec": service}, kind=SERVICES)
    # The machine has room for as many as there are promises.
    capacity = {"status": {"allocatable": {"pods": "500"}, "capacity": {"pods": "500"}}}
    for found in await client.list(NODES):
        await client.patch(NODES, found["metadata"]["name"], capacity, subresource="status")
    for number, one in enumerate(PROMISES):
        await node.create(f"p{number}", one.spec, **one.metadata)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    with running_node(tmp_path_factory.mktemp("node")) as running:
        running.run(make_everything(running))
        yield running


@pytest.mark.parametrize(("number", "one"), list(enumerate(PROMISES)), ids=[one.name for one in PROMISES])
def test_a_pod_finds_what_was_promised(node: Node, number: int, one: Promise) -> None:
    said = node.run(node.said(f"p{number}"))
    if isinstance(one.says, str):
        assert said == one.says
    else:
        assert one.says.fullmatch(said), said


def test_the_promises_kept_here_are_public_ones() -> None:
    lines = [
        re.sub(r"\[[^]]*\]", "", line)
        for line in (FACTS / "promises" / "kubelet.txt").read_text().splitlines()
    ]
    assert {" ".join(line.split()) for line in lines} >= KEPT
