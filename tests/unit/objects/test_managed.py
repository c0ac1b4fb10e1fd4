"""Keeping managedFields, and that it agrees with what a real API server recorded."""

from __future__ import annotations

import json
from typing import Any

import pytest

from steersman.objects.errors import FieldSetError
from steersman.objects.fieldsets import excluding, fields_of
from steersman.objects.managed import MAX_UPDATE_MANAGERS, Managed, track_update
from steersman.objects.schemas import ANY, Schema
from tests.recordings import CONVERSATIONS

Object = dict[str, Any]

# --- Small schemas, shaped like the built-in types of the same names

TEXT = Schema("scalar", scalar="string")
TEXTS = Schema("map", values=TEXT)
ATOMIC_LIST = Schema("list", values=TEXT)

METADATA = Schema(
    "struct",
    name="v1.ObjectMeta",
    properties={
        **dict.fromkeys(
            (
                "name",
                "namespace",
                "uid",
                "resourceVersion",
                "creationTimestamp",
                "generation",
                "deletionTimestamp",
                "deletionGracePeriodSeconds",
            ),
            TEXT,
        ),
        "labels": TEXTS,
        "annotations": TEXTS,
        "finalizers": Schema("list", values=TEXT, list_type="set"),
        "ownerReferences": Schema(
            "list",
            values=Schema("struct", properties={"uid": TEXT, "name": TEXT}, atomic=True),
            list_type="map",
            keys=("uid",),
        ),
        "managedFields": Schema("list", values=ANY),
    },
)


def object_schema(**properties: Schema) -> Schema:
    return Schema("struct", properties={"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, **properties})


CONFIG_MAP = object_schema(data=TEXTS, immutable=TEXT)

ENV = Schema("struct", name="v1.EnvVar", properties={"name": TEXT, "value": TEXT})
PORT = Schema(
    "struct",
    name="v1.ContainerPort",
    properties={"name": TEXT, "containerPort": TEXT, "protocol": TEXT, "hostPort": TEXT},
)
CONTAINER = Schema(
    "struct",
    name="v1.Container",
    properties={
        "name": TEXT,
        "image": TEXT,
        "command": ATOMIC_LIST,
        "env": Schema("list", values=ENV, list_type="map", keys=("name",)),
        "ports": Schema(
            "list",
            values=PORT,
            list_type="map",
            keys=("containerPort", "protocol"),
            key_defaults={"protocol": "TCP"},
        ),
        "resources": Schema("struct", properties={"limits": TEXTS, "requests": TEXTS}),
        **dict.fromkeys(("imagePullPolicy", "terminationMessagePath", "terminationMessagePolicy"), TEXT),
    },
)
POD_SPEC = Schema(
    "struct",
    name="v1.PodSpec",
    properties={
        "containers": Schema("list", values=CONTAINER, list_type="map", keys=("name",)),
        "securityContext": Schema("struct", properties={"runAsUser": TEXT}),
        **dict.fromkeys(
            ("dnsPolicy", "restartPolicy", "schedulerName", "terminationGracePeriodSeconds"), TEXT
        ),
    },
)
DEPLOYMENT = object_schema(
    spec=Schema(
        "struct",
        name="v1.DeploymentSpec",
        properties={
            **dict.fromkeys(("replicas", "progressDeadlineSeconds", "revisionHistoryLimit"), TEXT),
            "selector": Schema("struct", properties={"matchLabels": TEXTS}, atomic=True),
            "strategy": Schema(
                "struct",
                properties={
                    "type": TEXT,
                    "rollingUpdate": Schema("struct", properties={"maxSurge": TEXT, "maxUnavailable": TEXT}),
                },
            ),
            "template": Schema("struct", properties={"metadata": METADATA, "spec": POD_SPEC}),
        },
    ),
    status=Schema("struct", properties=dict.fromkeys(("replicas", "readyReplicas"), TEXT)),
)
#: What decoding `{}` gives for these types: plain structs are there, nil lists are null.
EMPTY_CONFIG_MAP: Object = {"metadata": {}}
EMPTY_DEPLOYMENT: Object = {
    "metadata": {},
    "spec": {
        "selector": None,
        "strategy": {},
        "template": {"metadata": {}, "spec": {"containers": None}},
    },
    "status": {},
}


def config_map(data: dict[str, str], managed: list[Object] | None = None, **meta: Any) -> Object:
    metadata = {"name": "c", "uid": "1", **meta}
    if managed is not None:
        metadata["managedFields"] = managed
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def created(data: dict[str, str], manager: str = "one") -> Object:
    made = config_map(data)
    return config_map(data, track(None, made, manager, time="t1"))


def track(live: Object | None, new: Object, manager: str, *, time: str = "t2", **more: Any) -> list[Object]:
    return track_update(
        live or EMPTY_CONFIG_MAP, new, CONFIG_MAP, manager=manager, api_version="v1", time=time, **more
    )


def owned(entries: list[Object]) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"].get("f:data") for entry in entries}


def test_creator_owns_everything() -> None:
    assert created({"a": "1"})["metadata"]["managedFields"] == [
        {
            "manager": "one",
            "operation": "Update",
            "apiVersion": "v1",
            "time": "t1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:a": {}}},
        }
    ]


def test_changed_fields_change_hands_and_removed_ones_are_nobodys() -> None:
    entries = track(
        created({"a": "1", "b": "1", "c": "1"}), config_map({"a": "1", "b": "2", "d": "1"}), "two"
    )
    assert owned(entries) == {"one": {".": {}, "f:a": {}}, "two": {"f:b": {}, "f:d": {}}}
    assert [entry["time"] for entry in entries] == ["t1", "t2"]


def test_same_manager_keeps_one_entry_and_its_time_moves_with_a_change() -> None:
    live = created({"a": "1"})
    (entry,) = track(live, config_map({"a": "1", "b": "1"}), "one")
    assert entry["fieldsV1"] == {"f:data": {".": {}, "f:a": {}, "f:b": {}}}
    assert entry["time"] == "t2"
    (same,) = track(live, config_map({"a": "1"}), "one")
    assert same["time"] == "t1"


def test_entry_without_fields_is_dropped() -> None:
    live = created({"a": "1"})
    entries = track(live, config_map({"a": "2"}), "two")
    assert owned(entries) == {"one": {}, "two": {"f:a": {}}}
    gone = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "uid": "1"}}
    assert track(live, gone, "two") == []


def test_sent_owners_without_fields_are_none() -> None:
    live = created({"a": "1"})
    sent = [{**live["metadata"]["managedFields"][0], "fieldsV1": {}}]
    assert track(live, config_map({"a": "1"}, sent), "two") == []


def test_an_owner_that_was_sent_without_a_name_has_none() -> None:
    live = created({"a": "1"})
    sent = [{**live["metadata"]["managedFields"][0], "manager": ""}]
    [entry] = track(live, config_map({"a": "1"}, sent), "two")
    assert "manager" not in entry


def test_nameless_manager_is_unknown() -> None:
    assert track(None, config_map({"a": "1"}), "")[0]["manager"] == "unknown"


def test_applied_fields_are_taken_by_an_update() -> None:
    live = created({"a": "1", "b": "1"})
    live["metadata"]["managedFields"][0]["operation"] = "Apply"
    entries = track(live, config_map({"a": "2", "b": "1"}), "one")
    assert [(entry["operation"], entry["fieldsV1"]["f:data"]) for entry in entries] == [
        ("Apply", {".": {}, "f:b": {}}),
        ("Update", {"f:a": {}}),
    ]


def test_object_without_owners_stays_so() -> None:
    assert track(config_map({"a": "1"}), config_map({"a": "2"}), "one") == []


@pytest.mark.parametrize("reset", [[], [{}]], ids=["empty list", "one empty entry"])
def test_owners_can_be_reset(reset: list[Object]) -> None:
    assert track(created({"a": "1"}), config_map({"a": "2"}, reset), "two") == []


def test_client_can_change_owners_but_not_through_a_subresource() -> None:
    live = created({"a": "1"})
    sent = [{**live["metadata"]["managedFields"][0], "manager": "renamed"}]
    assert list(owned(track(live, config_map({"a": "1"}, sent), "two"))) == ["renamed"]
    assert list(owned(track(live, config_map({"a": "1"}, sent), "two", subresource="status"))) == ["one"]


@pytest.mark.parametrize(
    "change",
    [
        {"operation": "X"},
        {"apiVersion": ""},
        {"fieldsType": ""},
        {"fieldsType": "V2"},
        {"fieldsV1": {"a": {}}},
    ],
    ids=str,
)
def test_owners_that_make_no_sense_are_ignored(change: Object) -> None:
    live = created({"a": "1"})
    sent = [{**live["metadata"]["managedFields"][0], **change, "manager": "x"}]
    with pytest.raises(FieldSetError):
        Managed.decode(sent)
    assert list(owned(track(live, config_map({"a": "1"}, sent), "two"))) == ["one"]


def test_oldest_updates_are_merged() -> None:
    live = created({"a": "1"}, "m00")
    data = {"a": "1"}
    for number in range(1, MAX_UPDATE_MANAGERS + 3):
        data = {**data, f"k{number}": "1"}
        live = config_map(data, track(live, config_map(data), f"m{number:02}", time=f"u{number:02}"))
    entries = live["metadata"]["managedFields"]
    assert len(entries) == MAX_UPDATE_MANAGERS
    assert entries[0]["manager"] == "ancient-changes"
    assert owned(entries)["ancient-changes"] == {".": {}, "f:a": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}}
    assert "m00" not in owned(entries)


def deployment(spec: Object, status: Object, managed: list[Object] | None = None) -> Object:
    metadata: Object = {"name": "d", "uid": "1"}
    if managed is not None:
        metadata["managedFields"] = managed
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def test_status_belongs_to_the_status_subresource() -> None:
    spec = {**EMPTY_DEPLOYMENT["spec"], "replicas": 1}
    first = track_update(
        EMPTY_DEPLOYMENT,
        deployment(spec, {"replicas": 3}),
        DEPLOYMENT,
        manager="m",
        api_version="apps/v1",
        time="t1",
        keep=excluding(fields_of("status")),
    )
    assert [entry["fieldsV1"] for entry in first] == [{"f:spec": {"f:replicas": {}}}]
    live = deployment(spec, {}, first)
    second = track_update(
        live,
        deployment({**spec, "replicas": 9}, {"replicas": 3}),
        DEPLOYMENT,
        manager="m",
        api_version="apps/v1",
        time="t2",
        subresource="status",
        keep=excluding(fields_of("spec", "metadata.labels")),
    )
    assert [(entry.get("subresource"), entry["fieldsV1"]) for entry in second] == [
        (None, {"f:spec": {"f:replicas": {}}}),
        ("status", {"f:status": {"f:replicas": {}}}),
    ]


def test_item_without_identity_leaves_owners_as_they_were() -> None:
    live = deployment({"replicas": 1}, {}, [])
    entries = track_update(
        live,
        deployment({"template": {"spec": {"containers": [{"image": "x"}]}}}, {}),
        DEPLOYMENT,
        manager="m",
        api_version="apps/v1",
        time="t",
    )
    assert entries == []


def test_other_versions_are_compared_in_their_own_form() -> None:
    live = created({"a": "1", "b": "1"})
    live["metadata"]["managedFields"][0]["apiVersion"] = "v0"
    new = config_map({"a": "2", "b": "1"})
    entries = track(
        live, new, "two", convert=lambda version: ({"data": {}}, {"data": {"b": "2"}}, CONFIG_MAP)
    )
    assert owned(entries) == {"one": {".": {}, "f:a": {}}, "two": {"f:a": {}}}
    assert list(owned(track(live, new, "two", convert=lambda version: None))) == ["two"]


# --- Recordings

TYPES = {
    "ConfigMap": (CONFIG_MAP, EMPTY_CONFIG_MAP),
    "Deployment": (DEPLOYMENT, EMPTY_DEPLOYMENT),
}


def recorded_writes(name: str) -> list[tuple[str, Object, Object, Object]]:
    """(id, step, stored object before, answer) of each successful write of a kind known here."""
    found: list[tuple[str, Object, Object, Object]] = []
    stored: dict[tuple[str, str], Object] = {}
    for number, step in enumerate(json.loads((CONVERSATIONS / f"{name}.json").read_text())["steps"]):
        body = step["answer"].get("body")
        if not isinstance(body, dict) or body.get("kind") not in TYPES or "uid" not in body["metadata"]:
            continue
        key = (body["kind"], body["metadata"]["name"])
        empty = TYPES[body["kind"]][1]
        if step["method"] in ("POST", "PUT", "PATCH"):
            live = empty if step["method"] == "POST" else stored.get(key, empty)
            found.append((f"{name}-{number}", step, live, body))
        stored[key] = body
    return found


@pytest.mark.parametrize("name", ["crud", "patches", "deletion"])
def test_owners_are_those_a_real_server_recorded(name: str) -> None:
    writes = recorded_writes(name)
    assert writes
    for where, step, live, answer in writes:
        subresource = "status" if step["path"].endswith("/status") else ""
        ignored = fields_of("spec", "metadata.labels") if subresource else fields_of("status")
        metadata = {key: value for key, value in answer["metadata"].items() if key != "managedFields"}
        entries = track_update(
            live,
            {**answer, "metadata": metadata},
            TYPES[answer["kind"]][0],
            manager="Python-urllib",
            api_version=answer["apiVersion"],
            time="<time>",
            subresource=subresource,
            keep=excluding(ignored),
        )
        assert entries == answer["metadata"].get("managedFields", []), where
