"""Where volumes appear in a container."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Object = dict[str, Any]
Errors = Callable[[Object], list[str]]

CONTAINER = {
    "name": "c",
    "image": "nginx",
    "resources": {},
    "terminationMessagePolicy": "File",
    "imagePullPolicy": "Always",
}


VOLUMES = [
    {"name": "v", "emptyDir": {}},
    {"name": "i", "image": {"reference": "nginx", "pullPolicy": "Always"}},
    {"name": "p", "persistentVolumeClaim": {"claimName": "c"}},
]


def mounts(*given: Object, **fields: Any) -> Object:
    return {"volumes": VOLUMES, "containers": [{**CONTAINER, "volumeMounts": [*given], **fields}]}


def mount(name: str = "v", **fields: Any) -> Object:
    return {"name": name, "mountPath": f"/{name}", **fields}


def device(name: str, path: str) -> Object:
    return {"name": name, "devicePath": path}


CASES: dict[str, tuple[Object, list[str]]] = {
    "mount and device": (mounts(mount(), volumeDevices=[device("p", "/dev/x")]), []),
    "mount of a device": (
        mounts(mount("p"), volumeDevices=[device("p", "/p")]),
        [
            'containers[0].volumeMounts[0].name: Invalid value: "p": must not already exist in volumeDevices',
            'containers[0].volumeMounts[0].mountPath: Invalid value: "/p": must not already '
            "exist as a path in volumeDevices",
            'containers[0].volumeDevices[0].name: Invalid value: "p": must not already exist in volumeMounts',
            'containers[0].volumeDevices[0].devicePath: Invalid value: "/p": must not already '
            "exist as a path in volumeMounts",
        ],
    ),
    "device of a directory": (
        mounts(volumeDevices=[device("v", "/dev/x")]),
        [
            'containers[0].volumeDevices[0].name: Invalid value: "v": can only use volume '
            "source type of PersistentVolumeClaim or Ephemeral for block mode",
        ],
    ),
    "propagation": (mounts(mount(mountPropagation="HostToContainer")), []),
    "propagation both ways": (
        mounts(mount(mountPropagation="Bidirectional")),
        [
            "containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount "
            "propagation is available only to privileged containers",
        ],
    ),
    "privileged propagation both ways": (
        mounts(mount(mountPropagation="Bidirectional"), securityContext={"privileged": True}),
        [],
    ),
    "options": (mounts(mount(bindMountOptions=["noexec", "nosuid"])), []),
    "options twice": (
        mounts(mount(bindMountOptions=["noexec", "noexec", "fast"])),
        [
            'containers[0].volumeMounts[0].bindMountOptions[1]: Duplicate value: "noexec"',
            'containers[0].volumeMounts[0].bindMountOptions[2]: Unsupported value: "fast": '
            'supported values: "nodev", "noexec", "nosuid"',
        ],
    ),
    "options of an image": (
        mounts(mount("i", bindMountOptions=["noexec"])),
        [
            'containers[0].volumeMounts[0].bindMountOptions: Invalid value: ["noexec"]: '
            "bindMountOptions may not be used with image volumes",
        ],
    ),
    "image": (mounts(mount("i", readOnly=True)), []),
    "path within": (
        mounts(mount(subPath="a", subPathExpr="b")),
        [
            'containers[0].volumeMounts[0].subPathExpr: Invalid value: "b": subPathExpr and '
            "subPath are mutually exclusive",
        ],
    ),
    "recursive": (mounts(mount(recursiveReadOnly="Enabled", readOnly=True)), []),
    "recursive and writable": (
        mounts(mount(recursiveReadOnly="IfPossible", mountPropagation="HostToContainer")),
        [
            "containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified "
            "when readOnly is true",
            "containers[0].volumeMounts.recursiveReadOnly: Forbidden: may only be specified "
            "when mountPropagation is None or not specified",
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), CASES.values(), ids=CASES)
def test_a_mount_is_judged(spec_errors: Errors, spec: Object, expected: list[str]) -> None:
    assert spec_errors(spec) == expected
