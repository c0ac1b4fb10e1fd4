"""The annotation of client-side apply: what it still says, and how it is kept."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from steersman.objects.patches.apply.last_applied import ANNOTATION, fields_last_applied, with_last_applied
from steersman.objects.schemas import Schema

Object = dict[str, Any]

TEXT = Schema("scalar", scalar="string")
TEXTS = Schema("map", values=TEXT)
METADATA = Schema("struct", properties={"name": TEXT, "labels": TEXTS, "annotations": TEXTS})
CONFIG_MAP = Schema(
    "struct", properties={"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA, "data": TEXTS}
)


def config_map(data: Any, **annotations: str) -> Object:
    metadata: Object = {"name": "c", **({"annotations": annotations} if annotations else {})}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def annotated(data: Any, text: str) -> Object:
    return config_map(data, **{ANNOTATION: text})


def test_what_still_is_as_it_was_applied_counts() -> None:
    text = orjson.dumps(config_map({"same": "1", "changed": "1", "gone": "1"})).decode()
    live = annotated({"same": "1", "changed": "2", "added": "1"}, text)
    assert fields_last_applied(live, CONFIG_MAP, "v1") == {"f:data": {"f:same": {}}}


UNUSABLE = {
    "none": None,
    "empty": "",
    "no JSON": "{",
    "no object": "[]",
    "another version": '{"apiVersion":"v2","kind":"ConfigMap","data":{"a":"1"}}',
    "another form": '{"apiVersion":"v1","kind":"ConfigMap","data":[]}',
}


@pytest.mark.parametrize("text", UNUSABLE.values(), ids=list(UNUSABLE))
def test_an_annotation_that_says_nothing_usable_counts_for_nothing(text: str | None) -> None:
    live = config_map({"a": "1"}) if text is None else annotated({"a": "1"}, text)
    assert fields_last_applied(live, CONFIG_MAP, "v1") == {}


def test_the_annotation_follows_what_is_applied() -> None:
    live = annotated({"a": "1"}, "{}")
    after = with_last_applied(live, annotated({"a": "<2>"}, "old"))
    assert after["metadata"]["annotations"][ANNOTATION] == (
        '{"apiVersion":"v1","data":{"a":"\\u003c2\\u003e"},"kind":"ConfigMap",'
        '"metadata":{"annotations":{},"name":"c"}}\n'
    )
    assert live["metadata"]["annotations"][ANNOTATION] == "{}"
    assert with_last_applied(after, config_map({"a": "<2>"}, other="x")) is not after


def test_an_object_without_the_annotation_gets_none() -> None:
    live = config_map({"a": "1"})
    assert with_last_applied(live, config_map({"a": "2"})) is live


def test_an_annotation_that_does_not_change_is_no_change() -> None:
    live = with_last_applied(annotated({}, "old"), config_map({"a": "1"}))
    assert with_last_applied(live, config_map({"a": "1"})) is live


def test_an_annotation_that_would_be_too_large_goes() -> None:
    live = annotated({}, "old")
    after = with_last_applied(live, config_map({"a": "x" * 300_000}))
    assert after["metadata"]["annotations"] == {}
