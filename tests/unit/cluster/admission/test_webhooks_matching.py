"""Which writes webhooks and policies see."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.admission.webhooks.matching import MatchCriteria

from .conftest import Stored, write
from .webhook_server import TYPES, rule


def match(source: dict[str, Any] | None = None, **changes: Any) -> MatchCriteria:
    return MatchCriteria.parse({"rules": [{**rule(), **changes}], **(source or {})}, "rules")


def sees(found: MatchCriteria, stored: Stored, plural: str, **fields: Any) -> bool:
    return found.find(write(plural, {}, **fields), TYPES, stored) is not None


@pytest.mark.parametrize(
    ("plural", "namespace", "clusterwide"),
    [("pods", "default", False), ("nodes", "", True), ("namespaces", "default", True)],
)
def test_scope(stored: Stored, plural: str, namespace: str, clusterwide: bool) -> None:
    everything = {"resources": ["*"]}
    for scope, expected in (("*", True), ("Cluster", clusterwide), ("Namespaced", not clusterwide)):
        found = match(**everything, scope=scope)
        assert sees(found, stored, plural, namespace=namespace) is expected


def test_what_is_remembered_of_one_name_is_not_said_of_another(stored: Stored) -> None:
    found = match(resources=["pods"], resourceNames=["a"])
    assert sees(found, stored, "pods", name="a")
    assert not sees(found, stored, "pods", name="b")
    assert sees(found, stored, "pods", name="a")


def test_what_is_remembered_of_a_namespace_is_not_said_of_the_cluster(stored: Stored) -> None:
    found = match(resources=["*"], scope="Namespaced")
    assert sees(found, stored, "widgets", namespace="default")
    assert not sees(found, stored, "widgets", namespace="")


def test_namespaces_are_selected_by_their_labels(stored: Stored) -> None:
    stored.add("", "namespaces", "blue", metadata={"labels": {"team": "blue"}})
    stored.add("", "namespaces", "red", metadata={"labels": {"team": "red"}})
    found = match({"namespaceSelector": {"matchLabels": {"team": "blue"}}}, resources=["*"])
    assert sees(found, stored, "pods", namespace="blue")
    assert not sees(found, stored, "pods", namespace="red")
    # What is in no namespace is not asked about any.
    assert sees(found, stored, "nodes", namespace="")
    own = write("namespaces", {"metadata": {"labels": {"team": "blue"}}}, namespace="red", name="red")
    assert found.find(own, TYPES, stored) is not None
