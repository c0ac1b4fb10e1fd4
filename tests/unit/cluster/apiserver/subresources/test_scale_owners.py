"""The owners of replicas, on their way between a workload and its scale."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.subresources.scale_owners import owners_of_scale, owners_of_workload

Entry = dict[str, Any]

BOTH = {"f:spec": {"f:replicas": {}, "f:selector": {}}}
REPLICAS = {"f:spec": {"f:replicas": {}}}
SELECTOR = {"f:spec": {"f:selector": {}}}
PATHS: dict[str, str | None] = {"apps/v1": "spec.replicas"}


def entry(manager: str, operation: str, fields: Any, version: str = "apps/v1", **more: str) -> Entry:
    made = {"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1"}
    return {**made, "fieldsV1": fields, **more}


def by_scale(manager: str, operation: str, version: str = "autoscaling/v1") -> Entry:
    return entry(manager, operation, REPLICAS, version, subresource="scale")


def test_a_scale_has_the_owners_of_its_replicas() -> None:
    entries = [entry("a", "Apply", BOTH, time="t"), entry("b", "Apply", SELECTOR, time="t")]
    assert owners_of_scale(entries, PATHS) == [entry("a", "Apply", REPLICAS, "autoscaling/v1", time="t")]


OPERATIONS = [(before, after) for before in ("Apply", "Update") for after in ("Apply", "Update")]


@pytest.mark.parametrize(("before", "after"), OPERATIONS, ids=[f"{b}-{a}" for b, a in OPERATIONS])
@pytest.mark.parametrize("manager", ["same", "other"])
def test_writing_the_scale_takes_the_replicas(before: str, after: str, manager: str) -> None:
    entries = [entry("same", before, BOTH, time="t")]
    result = owners_of_workload(entries, [by_scale(manager, after)], "apps/v1", PATHS)
    expected = [by_scale(manager, after, "apps/v1"), entry("same", before, SELECTOR, time="t")]
    assert sorted(result, key=str) == sorted(expected, key=str)


def test_who_shares_the_replicas_keeps_them() -> None:
    entries = [entry("a", "Apply", BOTH, time="t")]
    scale = [entry("a", "Apply", REPLICAS, "autoscaling/v1", time="t"), by_scale("b", "Apply")]
    assert owners_of_workload(entries, scale, "apps/v1", PATHS) == [
        by_scale("b", "Apply", "apps/v1"),
        *entries,
    ]


def test_who_owned_the_replicas_by_an_update_has_two_entries_then() -> None:
    entries = [entry("a", "Update", BOTH, time="t")]
    once = owners_of_workload(entries, owners_of_scale(entries, PATHS), "apps/v1", PATHS)
    assert once == [entry("a", "Update", REPLICAS), entry("a", "Update", SELECTOR, time="t")]
    twice = owners_of_workload(once, owners_of_scale(once, PATHS), "apps/v1", PATHS)
    assert twice == [entry("a", "Update", SELECTOR, time="t")]


def test_who_owned_nothing_else_is_gone() -> None:
    assert owners_of_workload([entry("a", "Apply", REPLICAS)], [], "apps/v1", PATHS) == []


def test_a_custom_resource_may_keep_its_replicas_elsewhere_in_each_version() -> None:
    paths = {"x.io/v1": "spec.workers.count", "x.io/v2": "spec.size", "x.io/v3": None}
    workers, size = {"f:spec": {"f:workers": {"f:count": {}}}}, {"f:spec": {"f:size": {}}}
    entries = [
        entry("a", "Apply", workers, "x.io/v1"),
        entry("b", "Apply", size, "x.io/v2"),
        entry("c", "Apply", REPLICAS, "x.io/v3"),
        entry("d", "Apply", REPLICAS, "x.io/v0"),
    ]
    scale = owners_of_scale(entries, paths)
    assert scale == [entry(name, "Apply", REPLICAS, "autoscaling/v1") for name in "ab"]
    back = owners_of_workload(entries, [scale[0], by_scale("e", "Apply")], "x.io/v2", paths)
    assert back == [entries[0], entries[2], entry("e", "Apply", size, "x.io/v2", subresource="scale")]
