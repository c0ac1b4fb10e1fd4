"""JSONPath as printer columns and selectable fields use it."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.schema.structural.errors import JSONPathError
from steersman.cluster.schema.structural.jsonpath import JSONPath

_OBJECT = {
    "spec": {"image": "a", "n": 3, "dotted.name": "d", "none": None},
    "list": [{"name": "x", "v": 1}, {"name": "y", "v": 2}, {"name": "z", "v": 3}],
    "conditions": [{"type": "Ready", "status": "True"}, {"type": "Done (really)", "status": "False"}],
}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.image", ["a"]),
        ("$.spec.image", ["a"]),
        (".spec.absent.deeper", []),
        (".spec.none", [None]),
        (".spec['image']", ["a"]),
        (r".spec.dotted\.name", ["d"]),
        (r".spec['dotted\.name']", ["d"]),
        (".list[0].name", ["x"]),
        (".list[-1].name", ["z"]),
        (".list[*].v", [1, 2, 3]),
        (".list[1:].v", [2, 3]),
        (".list[:2].v", [1, 2]),
        (".list[0:3:2].v", [1, 3]),
        (".list[0,2].name", ["x", "z"]),
        (".spec['image','n']", ["a", 3]),
        ('.conditions[?(@.type=="Ready")].status', ["True"]),
        (".conditions[?(@.type=='Done (really)')].status", ["False"]),
        (".conditions[?(@.type!='Ready')].status", ["False"]),
        (".list[?(@.v>1)].name", ["y", "z"]),
        (".list[?(@.v<=1)].name", ["x"]),
        (".list[?(@.missing==1)].name", []),
        (".list[?(@.name)].v", [1, 2, 3]),
        (".spec.*", ["d", "a", 3, None]),
        ("..name", ["x", "y", "z"]),
        (".spec.n.deeper", []),
    ],
)
def test_finds(path: str, expected: list[Any]) -> None:
    assert JSONPath(path).find(_OBJECT) == expected


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".list[0", "unterminated array"),
        (".list[a]", "invalid array index a"),
        (".list[?(@.v==1]", "unterminated filter"),
        (".list[?(@.v==1)", "unclosed array expect ]"),
        (".a %", "unrecognized character"),
        ("....a", "invalid multiple recursive descent"),
        ("range .a", "unrecognized identifier range"),
        ("'a", "unterminated quoted string"),
    ],
)
def test_refuses(path: str, problem: str) -> None:
    with pytest.raises(JSONPathError, match=problem.replace("[", r"\[")):
        JSONPath(path)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (".list[7]", "array index out of bounds: index 7, length 3"),
        (".spec[0]", "is not array or slice"),
        (".spec[?(@.a==1)]", "cannot be filtered"),
        (".list[?(@.v=='a')]", "incompatible types for comparison"),
        (".list[?(@.v=<1)]", "unrecognized filter operator"),
    ],
)
def test_does_not_apply(path: str, problem: str) -> None:
    with pytest.raises(JSONPathError, match=problem):
        JSONPath(path).find(_OBJECT)
