"""What the API serves, as controllers of everything learn it."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from steersman.client import ClientError
from steersman.cluster.controllers.discovered import discover
from steersman.objects.resources import PODS


class _Answers:
    """A client of an API that serves what it is told."""

    def __init__(self, **answers: dict[str, Any]) -> None:
        self._answers = answers

    async def request(self, method: str, path: str, *, accept: str) -> bytes:
        assert (method, accept.count("APIGroupDiscoveryList")) == ("GET", 1)
        return orjson.dumps(self._answers[path[1:]])


def _groups(*items: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "APIGroupDiscoveryList", "items": list(items)}


def _resource(name: str, kind: str, *verbs: str, scope: str = "Namespaced") -> dict[str, Any]:
    return {"resource": name, "responseKind": {"kind": kind}, "scope": scope, "verbs": list(verbs)}


def test_each_resource_is_preferred_in_the_first_version_that_has_it() -> None:
    both, only = _resource("as", "A", "list", "delete"), _resource("bs", "B", "list")
    versions = [{"version": "v2", "resources": [both]}, {"version": "v1", "resources": [both, only]}]
    stale = {"version": "v9", "freshness": "Stale", "resources": []}
    pods = {"version": "v1", "resources": [_resource("pods", "Pod", "list")]}
    answers: Any = _Answers(
        api=_groups({"metadata": {}, "versions": [pods]}),
        apis=_groups(
            {"metadata": {"name": "example.com"}, "versions": versions},
            {"metadata": {"name": "stale.com"}, "versions": [stale]},
        ),
    )
    found = asyncio.run(discover(answers))
    assert [str(one) for one in found.preferred("list")] == [
        "pods.v1",
        "as.v2.example.com",
        "bs.v1.example.com",
    ]
    assert [str(one) for one in found.preferred("list", "delete")] == ["as.v2.example.com"]
    assert found.preferred("list")[0] == PODS
    assert len(found.resources) == 4
    assert found.stale == ["stale.com/v9"]


@pytest.mark.parametrize("answer", [{"kind": "APIGroupList", "groups": []}, {"kind": "APIVersions"}, {}])
def test_an_answer_of_another_kind_is_no_api_without_resources(answer: dict[str, Any]) -> None:
    answers: Any = _Answers(api=answer, apis=_groups())
    with pytest.raises(ClientError, match="/api did not answer with discovery"):
        asyncio.run(discover(answers))
