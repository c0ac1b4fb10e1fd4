"""Protobuf bodies become what the same object sent as JSON becomes, and no bytes do harm."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from steersman.cluster.codec import Malformed, decode_body, protobuf
from steersman.cluster.schema.decode import decode_type
from steersman.cluster.schema.resources import GVK, all_resources
from steersman.cluster.schema.table import table, type_name

from . import facts_encoder as facts
from .arbitrary import arbitrary

PROTOBUF = "application/vnd.kubernetes.protobuf"
KINDS = sorted(
    {each.gvk for each in all_resources()}
    | {sub.gvk for each in all_resources() for sub in each.subresources.values()}
)
TYPES = [name for gvk in KINDS if (name := type_name(gvk)) is not None]

with_facts = pytest.mark.skipif(not facts.FACTS.exists(), reason="the recorded facts are not here")


@with_facts
@pytest.mark.parametrize("name", TYPES, ids=lambda name: name.removeprefix("io.k8s."))
def test_every_type_means_the_same_in_protobuf_and_json(name: str) -> None:
    @settings(max_examples=3, deadline=None, database=None, phases=[Phase.generate])
    @given(st.randoms(use_true_random=False))
    def check(chance: Random) -> None:
        expected = decode_type(name, arbitrary(name, chance)).obj
        raw = facts.encode(facts.message_of(name), expected)
        assert protobuf.decode(name, raw) == expected

    check()


@with_facts
def test_a_body_in_an_envelope_is_decoded() -> None:
    obj = {
        "metadata": {"name": "a"},
        "spec": {"replicas": 0, "template": {"spec": {"containers": [{"name": "c"}]}}},
    }
    raw = facts.encode("k8s.io.api.apps.v1.Deployment", obj)
    body = facts.envelope("apps/v1", "Deployment", raw)
    decoded = decode_body(PROTOBUF, body, GVK("apps", "v1", "Deployment"))
    assert decoded.gvk == GVK("apps", "v1", "Deployment")
    assert decoded.obj["spec"]["replicas"] == 0
    assert decoded.obj["spec"]["template"]["spec"]["containers"] == [{"name": "c", "resources": {}}]
    assert decoded.obj["kind"] == "Deployment"


@with_facts
def test_kind_may_be_left_out_of_the_envelope() -> None:
    body = facts.envelope("", "", facts.encode("k8s.io.api.core.v1.ConfigMap", {"data": {"k": "v"}}))
    decoded = decode_body(PROTOBUF, body, GVK("", "v1", "ConfigMap"))
    assert decoded.obj == {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}, "data": {"k": "v"}}


@with_facts
def test_delete_options_come_in_protobuf_too() -> None:
    obj = {"gracePeriodSeconds": 0, "preconditions": {"uid": "x"}, "propagationPolicy": "Foreground"}
    body = facts.envelope("v1", "DeleteOptions", facts.encode(facts.META + "DeleteOptions", obj))
    decoded = decode_body(PROTOBUF, body, GVK("", "v1", "DeleteOptions"))
    assert decoded.obj == {"apiVersion": "v1", "kind": "DeleteOptions", **obj}


def test_packed_integers_are_read() -> None:
    # supplementalGroups = 4 in PodSecurityContext
    assert protobuf.decode("io.k8s.api.core.v1.PodSecurityContext", b"\x22\x03\x01\xac\x02") == {
        "supplementalGroups": [1, 300]
    }


def test_unknown_fields_are_skipped() -> None:
    assert protobuf.decode(
        "io.k8s.api.core.v1.LocalObjectReference", b"\x0a\x01a" + b"\xfa\x7f\x02zz" + b"\xf8\x7f\x05"
    ) == {"name": "a"}


@pytest.mark.parametrize(
    "raw, message",
    [
        (b"\x0a\x05ab", "unexpected EOF"),
        (b"\x08\x01", "proto: wrong wireType = 0 for field Name"),
        (b"\x0f", "proto: illegal wireType 7"),
        (b"\x02\x00", "proto: illegal tag 0 (wire type 2)"),
        (b"\x0a" + b"\xff" * 11, "proto: integer overflow"),
        (b"\xff", "unexpected EOF"),
    ],
    ids=["cut off", "wrong type", "illegal type", "illegal tag", "long varint", "half a tag"],
)
def test_malformed_messages_are_refused(raw: bytes, message: str) -> None:
    with pytest.raises(Malformed) as caught:
        protobuf.decode("io.k8s.api.core.v1.LocalObjectReference", raw)
    assert str(caught.value) == message


def test_deep_nesting_is_refused() -> None:
    raw = b""
    for _ in range(5000):
        raw = facts.delimited(28, raw)  # not: JSONSchemaProps
    with pytest.raises(Malformed, match="exceeded max depth"):
        protobuf.decode("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps", raw)


@settings(max_examples=300, deadline=None)
@given(
    name=st.sampled_from([each for each in table() if "properties" in table()[each]]),
    raw=st.binary(max_size=80),
)
def test_arbitrary_bytes_decode_or_are_refused(name: str, raw: bytes) -> None:
    with suppress(Malformed):
        assert isinstance(protobuf.decode(name, raw), dict)


@with_facts
@settings(max_examples=25, deadline=None)
@given(chance=st.randoms(use_true_random=False), data=st.data())
def test_damaged_pods_decode_or_are_refused(chance: Random, data: st.DataObject) -> None:
    pod = decode_type("io.k8s.api.core.v1.Pod", arbitrary("io.k8s.api.core.v1.Pod", chance)).obj
    raw = bytearray(facts.encode("k8s.io.api.core.v1.Pod", pod))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    with suppress(Malformed):
        assert isinstance(protobuf.decode("io.k8s.api.core.v1.Pod", bytes(raw)), dict)
