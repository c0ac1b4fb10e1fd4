from __future__ import annotations

import pytest

from tests.support.api import ApiClient, with_api


@pytest.mark.parametrize("kind", ["merge", "json", "strategic-merge"])
@pytest.mark.parametrize(
    "path",
    [
        "/apis/coordination.k8s.io/v1/namespaces/default/leases/nothing",
        "/apis/events.k8s.io/v1/namespaces/default/events/nothing",
    ],
)
def test_a_patch_of_what_is_not_there_finds_nothing(path: str, kind: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        code, answer = await client.patch(path, [] if kind == "json" else {"metadata": {}}, kind)
        assert (code, answer["reason"]) == (404, "NotFound")

    check()


@pytest.mark.parametrize("kind", ["merge", "json", "strategic-merge"])
def test_what_cannot_be_a_name_cannot_be_patched(kind: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        path = "/api/v1/namespaces/default/configmaps/a%25"
        code, answer = await client.patch(path, [] if kind == "json" else {}, kind)
        assert (code, answer["message"]) == (400, "Name parameter invalid: \"a%\": may not contain '%'")

    check()
