"""Pods from templates, and the hashes that name them."""

from __future__ import annotations

from random import Random

import pytest

from steersman.cluster.controllers.templates import (
    fnv32,
    fnv32a,
    json_bytes,
    pod_from_template,
    safe_encoded,
    same_template,
    template_hash,
)
from steersman.objects.resources import REPLICA_SETS

TEMPLATE = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}, "finalizers": ["example.com/x"]},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


def _owner(name: str = "web-1") -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "shop", "uid": "u1"}}


def test_a_pod_has_its_owners_name_and_its_templates_metadata() -> None:
    pod = pod_from_template(TEMPLATE, _owner(), REPLICA_SETS, Random(1))
    metadata = pod["metadata"]
    assert metadata["generateName"] == "web-1-"
    assert metadata["name"].startswith("web-1-")
    assert len(metadata["name"]) == len("web-1-") + 5
    assert metadata["namespace"] == "shop"
    assert (metadata["labels"], metadata["annotations"]) == ({"app": "web"}, {"a": "b"})
    assert metadata["finalizers"] == ["example.com/x"]
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "name": "web-1",
            "uid": "u1",
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]
    assert pod["spec"] == TEMPLATE["spec"]


def test_a_pod_does_not_share_what_is_changed_of_it() -> None:
    pod = pod_from_template(TEMPLATE, _owner(), REPLICA_SETS)
    pod["metadata"]["labels"]["more"] = "x"
    pod["spec"]["hostname"] = "h"
    assert "more" not in TEMPLATE["metadata"]["labels"]
    assert "hostname" not in TEMPLATE["spec"]


@pytest.mark.parametrize(
    ("content", "one", "one_a"),
    [
        pytest.param(b"", 0x811C9DC5, 0x811C9DC5, id="nothing"),
        pytest.param(b"a", 0x050C5D7E, 0xE40C292C, id="a letter"),
        pytest.param(b"foobar", 0x31F0B262, 0xBF9CF968, id="a word"),
    ],
)
def test_fnv_as_published(content: bytes, one: int, one_a: int) -> None:
    assert (fnv32(content), fnv32a(content)) == (one, one_a)


def test_a_hash_has_no_vowels() -> None:
    assert safe_encoded(1234567890) == "56789bcdf4"


def test_json_is_written_as_go_writes_maps() -> None:
    assert json_bytes({"b": "<&>", "a": 1}) == b'{"a":1,"b":"\\u003c\\u0026\\u003e"}'


def test_a_collision_gives_another_hash() -> None:
    hashes = {template_hash(TEMPLATE, collisions) for collisions in (None, 0, 1, 2)}
    assert len(hashes) == 4


def test_templates_are_the_same_whatever_hash_is_on_them() -> None:
    hashed = {
        **TEMPLATE,
        "metadata": {**TEMPLATE["metadata"], "labels": {"app": "web", "pod-template-hash": "x"}},
    }
    assert same_template(TEMPLATE, hashed)
    assert not same_template(TEMPLATE, {**TEMPLATE, "spec": {"containers": []}})
    assert not same_template(TEMPLATE, {**TEMPLATE, "metadata": {"labels": {"app": "web"}}})
