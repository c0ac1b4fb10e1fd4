"""Templates as revisions."""

from __future__ import annotations

import json
from typing import Any

from steersman.cluster.controllers.controller_revisions import (
    in_order,
    new_revision,
    revision_data,
    template_of,
)
from steersman.objects.resources import STATEFUL_SETS

TEMPLATE = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": []}}
OWNER: dict[str, Any] = {
    "metadata": {"name": "db", "namespace": "default", "uid": "u", "annotations": {"why": "because"}},
    "spec": {"template": TEMPLATE},
}


def test_a_revision_keeps_its_owners_template_as_a_patch() -> None:
    revision = new_revision(OWNER, STATEFUL_SETS, "db-x", 3, {"hash": "x"})
    assert (
        revision["data"] == {"spec": {"template": {**TEMPLATE, "$patch": "replace"}}} == revision_data(OWNER)
    )
    assert template_of(revision) == TEMPLATE
    assert revision["revision"] == 3
    metadata = revision["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("db-x", "default")
    assert metadata["labels"] == {"app": "db", "hash": "x"}
    assert metadata["annotations"] == {"why": "because"}
    assert metadata["ownerReferences"][0]["uid"] == "u"


def test_revisions_are_in_order_of_number_then_age_then_name() -> None:
    def revision(name: str, number: int, created: str) -> dict[str, Any]:
        return {"revision": number, "metadata": {"name": name, "creationTimestamp": created}}

    made = [revision("d", 10, "1"), revision("c", 2, "2"), revision("b", 2, "1"), revision("a", 2, "2")]
    assert [one["metadata"]["name"] for one in in_order(made)] == ["b", "a", "c", "d"]


def test_names_in_a_revision_are_in_order() -> None:
    template = {"spec": {"b": 1, "a": [{"z": 1, "c": 2}]}, "metadata": {}}
    data = json.dumps(revision_data({"spec": {"template": template}}))
    assert data == (
        '{"spec": {"template": {"$patch": "replace", "metadata": {}, '
        '"spec": {"a": [{"c": 2, "z": 1}], "b": 1}}}}'
    )
