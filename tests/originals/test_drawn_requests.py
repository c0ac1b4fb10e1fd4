"""Requests that nobody wrote, drawn anew: ours answers as the original, to the letter.

Manifests of common kinds with something changed at random places: fields left out, doubled, of other types, with
values of other fields or with nonsense. `STEERSMAN_DRAWN=5000` draws more, `STEERSMAN_DRAWN_SEED` others.
"""

from __future__ import annotations

import copy
import json
import os
import random
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.originals.programs import NOT_INSTALLED, installed
from tests.originals.servers import original_cluster
from tests.recordings.conversation import Speaker
from tests.support.manifests import config_map, deployment, pod
from tests.support.steer import running

COUNT = int(os.environ.get("STEERSMAN_DRAWN", "300"))
SEED = int(os.environ.get("STEERSMAN_DRAWN_SEED", "1"))

pytestmark = [
    pytest.mark.slow,
    pytest.mark.original,
    pytest.mark.skipif(not installed("etcd", "kube-apiserver"), reason=NOT_INSTALLED),
    pytest.mark.timeout(120 + COUNT),
]

Object = dict[str, Any]

NONSENSE: tuple[Any, ...] = (
    None, "", "UPPER", "a b", -1, 0, 1, 2**31, 1.5, True, [], {}, ["x"], {"x": "y"}, "10", "100m", "1Gi", "ä" * 70,
)  # fmt: skip

SERVICE: Object = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a", "labels": {"l": "1"}},
    "spec": {
        "selector": {"app": "a"},
        "type": "ClusterIP",
        "ports": [{"name": "http", "port": 80, "targetPort": "http", "protocol": "TCP"}],
        "sessionAffinity": "None",
    },
}
JOB: Object = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {
        "completions": 3,
        "parallelism": 2,
        "backoffLimit": 4,
        "template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}},
    },
}
INGRESS: Object = {
    "apiVersion": "networking.k8s.io/v1",
    "kind": "Ingress",
    "metadata": {"name": "a"},
    "spec": {
        "rules": [
            {
                "host": "a.example.com",
                "http": {
                    "paths": [
                        {
                            "path": "/",
                            "pathType": "Prefix",
                            "backend": {"service": {"name": "a", "port": {"number": 80}}},
                        }
                    ]
                },
            }
        ]
    },
}
ROLE: Object = {
    "apiVersion": "rbac.authorization.k8s.io/v1",
    "kind": "Role",
    "metadata": {"name": "a"},
    "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]}],
}


def manifests() -> list[tuple[str, Object]]:
    """Paths of collections, and an object for each."""
    core, apps = "/api/v1/namespaces/default/{}", "/apis/apps/v1/namespaces/default/{}"
    return [
        (core.format("configmaps"), config_map("a")),
        (core.format("pods"), pod("a")),
        (apps.format("deployments"), deployment("a")),
        (core.format("services"), SERVICE),
        ("/apis/batch/v1/namespaces/default/jobs", JOB),
        ("/apis/networking.k8s.io/v1/namespaces/default/ingresses", INGRESS),
        ("/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles", ROLE),
    ]


def drawn(count: int, seed: int) -> Iterator[Object]:
    """Steps of a conversation."""
    chance = random.Random(seed)
    there = manifests()
    for _ in range(count):
        path, manifest = chance.choice(there)
        body = copy.deepcopy(manifest)
        for _ in range(chance.choice((1, 1, 2))):
            change(body, chance)
        validation = chance.choice(("", "&fieldValidation=Strict", "&fieldValidation=Ignore"))
        yield {"method": "POST", "path": f"{path}?dryRun=All{validation}", "body": body}


def change(body: Object, chance: random.Random) -> None:
    """Change something at one place of an object."""
    holder, key = chance.choice(list(places(body)))
    match chance.randrange(4):
        case 0 if isinstance(holder, dict):
            del holder[key]
        case 1 if isinstance(holder, list):
            holder.append(copy.deepcopy(holder[key]))
        case 2 if isinstance(holder, dict):
            holder[chance.choice(("unknown", "Name", "spec", "port", "image"))] = copy.deepcopy(holder[key])
        case _:
            holder[key] = chance.choice(NONSENSE)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All (container, key) within an object."""
    for key in list(value) if isinstance(value, dict) else range(len(value)):
        yield value, key
        if isinstance(value[key], dict | list):
            yield from places(value[key])


def test_drawn_requests_are_answered_alike() -> None:
    different = []
    with ExitStack() as stack:
        original = stack.enter_context(
            original_cluster(options=["--disable-admission-plugins=ServiceAccount"])
        )
        ours = stack.enter_context(running("--controllers", "none", "--disable-admission", "ServiceAccount"))
        theirs = Speaker(original.url, original.token)
        own = Speaker(ours.announced["server"], ours.api.token)
        for step in drawn(COUNT, SEED):
            expected, got = theirs.ask(step), own.ask(step)
            if expected != got:
                different.append("\n".join(json.dumps(each) for each in (step, expected, got)))
    assert not different, f"{len(different)} of {COUNT}:\n" + "\n\n".join(different[:10])
