"""Every create a real kube-apiserver accepted, replayed through decoding, defaulting and the strategy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.cluster.apiserver.resources.strategies import strategy_for
from steersman.cluster.apiserver.resources.strategies.services import (
    assign_ip_families,
    infer_ip_family_policy,
    sync_cluster_ips,
)
from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.defaults import apply_defaults
from steersman.cluster.schema.resources import GVK, by_kind
from tests.recordings import CONVERSATIONS

RECORDINGS = ("crud", "defaults", "deletion", "field_validation", "patches", "validation", "watch_and_list")

#: What the handlers, the allocators and admission add.
HANDLER_METADATA = (
    "creationTimestamp",
    "generateName",
    "managedFields",
    "resourceVersion",
    "uid",
    "namespace",
)
ADMISSION = {"Pod": ("preemptionPolicy", "priority", "tolerations")}


def creates() -> list[Any]:
    cases = []
    for name in RECORDINGS:
        steps = json.loads((CONVERSATIONS / f"{name}.json").read_text())["steps"]
        for number, step in enumerate(steps):
            answer = step["answer"]
            body = step.get("body")
            created = (
                step["method"] == "POST" and answer["code"] == 201 and isinstance(answer.get("body"), dict)
            )
            if not created or not isinstance(body, dict) or answer["body"].get("kind") in ("Status", "Table"):
                continue
            cases.append(pytest.param(body, answer["body"], id=f"{name}-{number}-{body.get('kind')}"))
    return cases


def replay(body: dict[str, Any], name: str) -> dict[str, Any]:
    gvk = GVK.of(body["apiVersion"], body["kind"])
    resource = by_kind(gvk)
    assert resource is not None
    obj = decode(gvk, body).obj
    apply_defaults(*gvk, obj)
    obj["metadata"] |= {"uid": "<uid>", "name": name}
    strategy = strategy_for(gvk.group, resource.plural)
    strategy.prepare_create(obj)
    strategy.complete_create(obj)
    if gvk.kind == "Service":
        sync_cluster_ips(obj, None)
        if infer_ip_family_policy(obj, None):
            assert assign_ip_families(obj, None) == []
    return obj


def comparable(obj: dict[str, Any]) -> dict[str, Any]:
    obj = json.loads(json.dumps(obj))
    for key in HANDLER_METADATA:
        obj["metadata"].pop(key, None)
    for key in ADMISSION.get(obj["kind"], ()):
        obj["spec"].pop(key, None)
    if obj["kind"] == "PersistentVolumeClaim":
        obj["metadata"].pop("finalizers", None)
    if obj["kind"] == "Service":
        if obj["spec"].get("clusterIP") != "None":
            obj["spec"].pop("clusterIP", None)
            obj["spec"].pop("clusterIPs", None)
        for port in obj["spec"].get("ports") or ():
            port.pop("nodePort", None)
    return obj


@pytest.mark.parametrize(("body", "answer"), creates())
def test_a_created_object_is_what_the_real_server_answers(
    body: dict[str, Any], answer: dict[str, Any]
) -> None:
    assert comparable(replay(body, answer["metadata"]["name"])) == comparable(answer)
