"""What a real kube-apiserver answered is in normal form: decoding it changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from steersman.cluster.schema.decode import decode
from steersman.cluster.schema.resources import GVK
from steersman.cluster.schema.table import type_name
from tests.recordings import CONVERSATIONS

MICRO_TIMES = {"acquireTime", "renewTime", "eventTime"}


def unmarked(value: Any, key: str = "") -> Any:
    """A recorded value with its markers replaced by values of the right form."""
    if isinstance(value, dict):
        return {name: unmarked(item, name) for name, item in value.items()}
    if isinstance(value, list):
        return [unmarked(item, key) for item in value]
    if value == "<time>":
        return "2024-01-01T00:00:00.000000Z" if key in MICRO_TIMES else "2024-01-01T00:00:00Z"
    return 30000 if value == "<nodePort>" else value


def objects(value: Any) -> Iterator[dict[str, Any]]:
    """Built-in objects in a recorded answer, at the top or inside watch events."""
    if isinstance(value, list):
        for item in value:
            yield from objects(item)
    elif isinstance(value, dict):
        if type_name(GVK.of(str(value.get("apiVersion", "")), str(value.get("kind", "")))):
            yield value
        elif "object" in value:
            yield from objects(value["object"])


def recorded() -> list[Any]:
    found = []
    for file in sorted(CONVERSATIONS.glob("*.json")):
        for number, step in enumerate(json.loads(file.read_text())["steps"]):
            for index, obj in enumerate(objects(step["answer"].get("body"))):
                found.append(pytest.param(obj, id=f"{file.stem}-{number}-{index}-{obj['kind']}"))
    return found


@pytest.mark.parametrize("obj", recorded())
def test_recorded_answers_are_in_normal_form(obj: dict[str, Any]) -> None:
    answer = unmarked(obj)
    decoded = decode(GVK.of(obj["apiVersion"], obj["kind"]), answer)
    assert decoded.obj == answer
    assert decoded.strict_errors == []
