"""Objects as bytes: framed, stamped and read back without loss."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from steersman.cluster.apiserver.resources.storage_encoding import (
    decode,
    encode,
    envelope,
    object_head,
    restamp,
    stamp,
)

Object = dict[str, Any]

#: JSON without lone surrogates and numbers beyond 64 bits, which no body can bring in.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
METADATA = st.fixed_dictionaries(
    {"name": TEXT},
    optional={
        "namespace": TEXT,
        "uid": TEXT,
        "labels": st.dictionaries(TEXT, TEXT, max_size=3),
        "annotations": st.dictionaries(TEXT, TEXT, max_size=3),
        "resourceVersion": st.integers(1, 1 << 60).map(str),
        "deletionTimestamp": TEXT,
    },
)
OBJECTS = st.builds(
    lambda metadata, rest: {"kind": "Thing", "apiVersion": "example.com/v1", **rest, "metadata": metadata},
    METADATA,
    st.dictionaries(TEXT.filter(lambda key: key not in ("kind", "apiVersion", "metadata")), JSON, max_size=3),
)
REVISIONS = st.integers(1, (1 << 63) - 1)
properties = settings(deadline=None, derandomize=True, database=None, max_examples=80)


def with_revision(obj: Object, revision: int) -> Object:
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": str(revision)}}


def test_the_form_at_rest() -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"k": "v"}, "metadata": {"name": "a"}}
    value = encode(obj)
    assert value == b'{"metadata":{"name":"a"},"data":{"k":"v"}}'
    assert stamp(value, 42) == b'{"metadata":{"resourceVersion":"42","name":"a"},"data":{"k":"v"}}'
    assert object_head("v1", "ConfigMap") + stamp(value, 42)[1:] == (
        b'{"kind":"ConfigMap","apiVersion":"v1",'
        b'"metadata":{"resourceVersion":"42","name":"a"},"data":{"k":"v"}}'
    )


def test_encoding_leaves_the_object_alone() -> None:
    obj = {"kind": "A", "metadata": {"resourceVersion": "7", "name": "a"}}
    encode(obj)
    assert obj == {"kind": "A", "metadata": {"resourceVersion": "7", "name": "a"}}


@given(OBJECTS, REVISIONS)
@properties
def test_an_object_comes_back_with_its_revision(obj: Object, revision: int) -> None:
    value = stamp(encode(obj), revision)
    assert decode(value, "example.com/v1", "Thing") == with_revision(obj, revision)


@given(OBJECTS, REVISIONS, REVISIONS)
@properties
def test_a_later_stamp_replaces_the_earlier_one(obj: Object, first: int, second: int) -> None:
    fresh = encode(obj)
    assert stamp(stamp(fresh, first), second) == stamp(fresh, second)
    assert restamp(stamp(fresh, first), second) == stamp(fresh, second)


@given(OBJECTS, REVISIONS)
@properties
def test_the_head_makes_a_whole_object(obj: Object, revision: int) -> None:
    whole = object_head("example.com/v1", "Thing") + stamp(encode(obj), revision)[1:]
    assert orjson.loads(whole) == with_revision(obj, revision)


@given(OBJECTS, REVISIONS)
@properties
def test_the_envelope_shows_the_metadata(obj: Object, revision: int) -> None:
    seen = envelope(stamp(encode(obj), revision))
    metadata = obj["metadata"]
    assert seen.resourceVersion == str(revision)
    assert seen.labels == metadata.get("labels", {})
    for name in ("name", "namespace", "uid", "deletionTimestamp"):
        assert getattr(seen, name) == metadata.get(name, "")


def test_text_that_looks_like_a_stamp_is_not_one() -> None:
    obj = {"metadata": {"name": '"resourceVersion":"1"', "labels": {"resourceVersion": "9"}}}
    assert decode(stamp(encode(obj), 5), "v1", "A")["metadata"] == {**obj["metadata"], "resourceVersion": "5"}


def test_decoded_objects_are_the_callers_own() -> None:
    value = encode({"metadata": {"name": "a"}})
    decode(value, "v1", "A")["metadata"]["name"] = "b"
    assert decode(value, "v1", "A")["metadata"]["name"] == "a"
