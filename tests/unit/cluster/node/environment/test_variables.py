"""A container's variables, from everything they come from."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from steersman.cluster.node.downward import DownwardNodeFacts
from steersman.cluster.node.environment import EnvironmentSources, environment
from steersman.cluster.node.errors import StartFailed

POD: dict[str, Any] = {
    "metadata": {"name": "p", "namespace": "ns", "uid": "u"},
    "spec": {"nodeName": "n", "containers": []},
}


def secret(**data: bytes) -> dict[str, Any]:
    return {"data": {key: b64encode(value).decode() for key, value in data.items()}}


def read_file(volume: str, path: str) -> str:
    assert volume == "v"
    if path == "missing":
        raise FileNotFoundError(path)
    return "IN_FILE='from file'"


SOURCES = EnvironmentSources(
    DownwardNodeFacts("n", ("10.0.0.1",), {"cpu": "4"}),
    ("10.1.0.5",),
    {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "TAKEN": "service"},
    {
        ("configMap", "cm"): {"data": {"a": "1", "not-a-name": "kept"}},
        ("secret", "sec"): secret(password=b"p\xc3\xa4ss"),
        ("secret", "bytes"): secret(invalid=b"\xff", zero=b"a\x00b"),
        ("configMap", "none"): None,
        ("secret", "none"): None,
    },
    read_file,
)


def variables(**container: Any) -> dict[str, str]:
    made = environment(POD, {"name": "main", **container}, SOURCES)
    return {name: value for name, value in made.items() if SOURCES.given.get(name) != value}


def env(name: str = "X", **source: Any) -> dict[str, Any]:
    return {"name": name, "valueFrom": source}


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        ({"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(A)"}]}, {"A": "1", "B": "11"}),
        ({"env": [{"name": "B", "value": "$(A)"}, {"name": "A", "value": "1"}]}, {"A": "1", "B": "$(A)"}),
        ({"env": [{"name": "A", "value": "$(KUBERNETES_SERVICE_HOST)"}]}, {"A": "10.0.0.1"}),
        ({"env": [{"name": "A"}]}, {"A": ""}),
        ({"env": [{"name": "TAKEN", "value": "own"}]}, {"TAKEN": "own"}),
        ({"env": [env(fieldRef={"fieldPath": "status.podIP"})]}, {"X": "10.1.0.5"}),
        ({"env": [env(resourceFieldRef={"resource": "limits.cpu"})]}, {"X": "4"}),
        ({"env": [env(configMapKeyRef={"name": "cm", "key": "a"})]}, {"X": "1"}),
        ({"env": [env(secretKeyRef={"name": "sec", "key": "password"})]}, {"X": "päss"}),
        ({"env": [env(configMapKeyRef={"name": "cm", "key": "z", "optional": True})]}, {}),
        ({"env": [env(configMapKeyRef={"name": "none", "key": "z", "optional": True})]}, {}),
        ({"env": [env(secretKeyRef={"name": "none", "key": "z", "optional": True})]}, {}),
        ({"env": [env(fileKeyRef={"volumeName": "v", "path": "f", "key": "IN_FILE"})]}, {"X": "from file"}),
        ({"env": [env(fileKeyRef={"volumeName": "v", "path": "f", "key": "Z", "optional": True})]}, {}),
        ({"envFrom": [{"configMapRef": {"name": "cm"}}]}, {"a": "1", "not-a-name": "kept"}),
        (
            {"envFrom": [{"prefix": "P_", "secretRef": {"name": "sec"}}]},
            {"P_password": "päss"},
        ),
        ({"envFrom": [{"configMapRef": {"name": "none", "optional": True}}]}, {}),
        (
            {"envFrom": [{"configMapRef": {"name": "cm"}}], "env": [{"name": "a", "value": "$(a)2"}]},
            {"a": "12", "not-a-name": "kept"},
        ),
    ],
)
def test_variables_come_from_everywhere(container: dict[str, Any], expected: dict[str, str]) -> None:
    assert variables(**container) == expected


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"env": [env(configMapKeyRef={"name": "none", "key": "k"})]}, 'configmap "none" not found'),
        ({"env": [env(secretKeyRef={"name": "none", "key": "k"})]}, 'secret "none" not found'),
        ({"envFrom": [{"configMapRef": {"name": "none"}}]}, 'configmap "none" not found'),
        ({"envFrom": [{"secretRef": {"name": "none"}}]}, 'secret "none" not found'),
        (
            {"env": [env(configMapKeyRef={"name": "cm", "key": "k"})]},
            "couldn't find key k in ConfigMap ns/cm",
        ),
        ({"env": [env(secretKeyRef={"name": "sec", "key": "k"})]}, "couldn't find key k in Secret ns/sec"),
        (
            {"env": [env(secretKeyRef={"name": "bytes", "key": "invalid"})]},
            "the value of environment variable X is not text",
        ),
        (
            {"env": [env(secretKeyRef={"name": "bytes", "key": "zero"})]},
            "the value of environment variable X is not text",
        ),
        ({"env": [env(fieldRef={"fieldPath": "spec.x"})]}, "unsupported fieldPath: spec.x"),
        (
            {"env": [env(resourceFieldRef={"resource": "limits.x"})]},
            "unsupported container resource : limits.x",
        ),
        (
            {"env": [env(fileKeyRef={"volumeName": "v", "path": "missing", "key": "k"})]},
            "couldn't parse env file",
        ),
        (
            {"env": [env(fileKeyRef={"volumeName": "v", "path": "f", "key": "k"})]},
            'environment variable key "k" not found in file "f"',
        ),
    ],
)
def test_what_is_missing_keeps_the_container_from_being_made(container: dict[str, Any], message: str) -> None:
    with pytest.raises(StartFailed) as raised:
        variables(**container)
    assert (raised.value.reason, raised.value.message) == ("CreateContainerConfigError", message)
