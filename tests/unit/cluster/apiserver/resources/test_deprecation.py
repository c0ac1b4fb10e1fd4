"""What users of deprecated versions are told, and with which answers."""

from __future__ import annotations

from typing import Any

import pytest

from steersman.cluster.apiserver.resources.deprecation import deprecation_of
from tests.support.api import ApiClient, with_api
from tests.unit.cluster.apiserver.custom.test_definitions import define, definition, thing, things, version

Object = dict[str, Any]

OLD = {"deprecated": True}


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        pytest.param([{}], "", id="not deprecated"),
        pytest.param([{**OLD, "deprecationWarning": "no more"}], "no more", id="in its own words"),
        pytest.param([{**OLD, "deprecationWarning": ""}], "", id="without words"),
        pytest.param([OLD], "shop.example.com/v1beta1 Thing is deprecated", id="no other"),
        pytest.param(
            [OLD, {"name": "v1"}, {"name": "v2"}, {"name": "v3", **OLD}, {"name": "v4", "served": False}],
            "shop.example.com/v1beta1 Thing is deprecated; use shop.example.com/v2 Thing",
            id="the best other",
        ),
        pytest.param(
            [OLD, {"name": "v1alpha1"}, {"name": "other"}],
            "shop.example.com/v1beta1 Thing is deprecated",
            id="only worse ones",
        ),
    ],
)
def test_the_words(versions: list[Object], expected: str) -> None:
    spec = definition(*({"name": "v1beta1", "served": True, **one} for one in versions))["spec"]
    assert deprecation_of(spec, spec["versions"][0]) == expected


@with_api
async def test_every_answer_about_a_deprecated_version_says_so(client: ApiClient) -> None:
    await define(client, version("v1", storage=True), {**version("v1beta1"), **OLD})
    old, new = things("a", "v1beta1"), things("a")
    said = ['299 - "shop.example.com/v1beta1 Thing is deprecated; use shop.example.com/v1 Thing"']
    asked: list[tuple[str, str, Object | None]] = [
        ("GET", old, None),
        ("POST", things("", "v1beta1"), thing("a", "v1beta1")),
        ("GET", old, None),
        ("GET", things("", "v1beta1"), None),
        ("GET", things("", "v1beta1") + "?watch=true&timeoutSeconds=1", None),
        ("DELETE", old, None),
    ]
    for method, path, body in asked:
        answer = await client.raw(method, path, body)
        assert answer.headers.get_all("warning") == said, (method, path)
    assert (await client.raw("GET", new)).headers.get_all("warning") == []


@with_api
async def test_endpoints_are_deprecated(client: ApiClient) -> None:
    answer = await client.raw("GET", "/api/v1/namespaces/default/endpoints/kubernetes")
    said = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
    assert answer.headers.get_all("warning") == [f'299 - "{said}"']
