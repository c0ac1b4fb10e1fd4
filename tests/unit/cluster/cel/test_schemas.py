"""Values seen through their schema: times, sets, keyed lists, escaped names, absent fields."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.cel import (
    NONE,
    Environment,
    EvaluationError,
    Optional,
    declare,
    escape,
    optional_declaration,
    unescape,
)
from tests.unit.cluster.cel.expressions import with_schema

TEXT = {"type": "string"}
ITEM = {"type": "object", "properties": {"k": TEXT, "v": TEXT}}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "wait": {"type": "string", "format": "duration"},
        "data": {"type": "string", "format": "byte"},
        "ratio": {"type": "number"},
        "port": {"x-kubernetes-int-or-string": True},
        "set": {"type": "array", "items": TEXT, "x-kubernetes-list-type": "set"},
        "keyed": {
            "type": "array",
            "items": ITEM,
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["k"],
        },
        "labels": {"type": "object", "additionalProperties": TEXT},
        "times": {"type": "array", "items": {"type": "string", "format": "date-time"}},
        "x-dash": TEXT,
        "a.b/c": TEXT,
        "namespace": TEXT,
        "__x": TEXT,
        "maybe": {"type": "string", "nullable": True},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": True},
    },
}
OBJECT: dict[str, Any] = {
    "when": "2020-01-02T03:04:05Z",
    "day": "2020-01-02",
    "wait": "90s",
    "data": "aGVsbG8=",
    "ratio": 1,
    "port": "http",
    "set": ["a", "b"],
    "keyed": [{"k": "1", "v": "x"}, {"k": "2", "v": "y"}],
    "labels": {"a-b": "c"},
    "times": ["2020-01-01T00:00:00Z"],
    "x-dash": "d",
    "a.b/c": "abc",
    "namespace": "ns",
    "__x": "u",
    "maybe": None,
    "embedded": {"kind": "Pod", "metadata": {"name": "n"}},
}

HOLDS = [
    "self.when.getFullYear() == 2020 && self.when > timestamp('2020-01-01T00:00:00Z')",
    "self.day == timestamp('2020-01-02T00:00:00Z')",
    "self.wait == duration('1m30s') && self.wait.getSeconds() == 90",
    "self.data == b'hello' && string(self.data) == 'hello'",
    "type(self.ratio) == double && self.ratio == 1.0",
    "type(self.port) == string && self.port == 'http'",
    "self.set == ['b', 'a'] && self.set != ['a'] && self.set + ['b', 'c'] == ['c', 'b', 'a']",
    "self.keyed == [self.keyed[1], self.keyed[0]]",
    "(self.keyed + self.keyed).size() == 2",
    "self.labels['a-b'] == 'c' && 'a-b' in self.labels && self.labels.all(k, k == 'a-b')",
    "self.times.all(t, t < timestamp('2020-01-02T00:00:00Z')) && self.times[0].getMonth() == 0",
    "timestamp('2020-01-01T00:00:00Z') in self.times",
    "self.x__dash__dash == 'd' && self.a__dot__b__slash__c == 'abc' && self.__underscores__x == 'u'",
    "self.__namespace__ == 'ns' && self.namespace == 'ns' && has(self.namespace)",
    "!has(self.maybe) && has(self.when)",
    "self.embedded.kind == 'Pod' && self.embedded.metadata.name == 'n'",
    "self == oldSelf && dyn(self).x__dash__dash == 'd'",
]


@pytest.mark.parametrize("rule", HOLDS)
def test_rule_holds(rule: str) -> None:
    assert with_schema(SCHEMA).compile(rule).evaluate({"self": OBJECT, "oldSelf": OBJECT}) is True


def test_null_field_is_an_absent_field() -> None:
    with pytest.raises(EvaluationError, match=r"^no such key: maybe$"):
        with_schema(SCHEMA).compile("self.maybe == 'a'").evaluate({"self": OBJECT})


def test_unreachable_fields_count_in_equality() -> None:
    schema = {"type": "object", "properties": {"a!": TEXT, "when": SCHEMA["properties"]["when"]}}
    rule = with_schema(schema).compile("self == oldSelf")
    assert rule.evaluate({"self": {"a!": "1"}, "oldSelf": {"a!": "1"}}) is True
    assert rule.evaluate({"self": {"a!": "1"}, "oldSelf": {"a!": "2"}}) is False


def test_root_of_a_resource_has_its_name() -> None:
    rule = with_schema({"type": "object"}, resource=True).compile(
        "self.metadata.name == 'a' && self.kind == 'K'"
    )
    assert rule.evaluate({"self": {"kind": "K", "metadata": {"name": "a"}}}) is True


def test_old_self_may_be_optional() -> None:
    declared = declare(SCHEMA)
    assert declared is not None
    environment = Environment({"self": declared, "oldSelf": optional_declaration(declared)})
    rule = environment.compile("oldSelf.hasValue() ? oldSelf.value().ratio <= self.ratio : self.ratio == 1.0")
    assert rule.evaluate({"self": OBJECT, "oldSelf": NONE}) is True
    assert rule.evaluate({"self": OBJECT, "oldSelf": Optional({"ratio": 2})}) is False
    chained = environment.compile("oldSelf.ratio.orValue(0.0) < self.ratio")
    assert chained.evaluate({"self": OBJECT, "oldSelf": Optional({"ratio": 0.5})}) is True
    assert chained.evaluate({"self": OBJECT, "oldSelf": NONE}) is True


def test_missing_variable_is_an_error() -> None:
    with pytest.raises(EvaluationError, match=r"no such attribute\(s\): oldSelf"):
        with_schema(SCHEMA).compile("self == oldSelf").evaluate({"self": OBJECT})


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("plain", "plain"),
        ("x-y", "x__dash__y"),
        ("a.b/c", "a__dot__b__slash__c"),
        ("a__b", "a__underscores__b"),
        ("namespace", "__namespace__"),
        ("1a", None),
        ("a b", None),
        ("", None),
    ],
)
def test_escaping(name: str, identifier: str | None) -> None:
    assert escape(name) == identifier
    if identifier is not None:
        assert unescape(identifier) == name
