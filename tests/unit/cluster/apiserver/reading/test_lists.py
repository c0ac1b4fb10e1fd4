"""Lists: selection, paging, revisions, forms."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.api import ApiClient, Object, config_map, with_api

MAPS = "/api/v1/namespaces/default/configmaps"


def names(listing: Object) -> list[str]:
    return [item["metadata"]["name"] for item in listing["items"]]


async def make(client: ApiClient, *created: str) -> None:
    for name in created:
        await client.ok("POST", MAPS, config_map(name, {"name": name}))


@with_api
async def test_pages_cover_everything_once_at_one_revision(client: ApiClient) -> None:
    await make(client, *"edcba")
    seen: list[str] = []
    page = await client.ok("GET", f"{MAPS}?limit=2")
    first = page["metadata"]["resourceVersion"]
    await make(client, "aa")
    assert page["metadata"]["remainingItemCount"] == 3
    while True:
        seen += names(page)
        assert page["metadata"]["resourceVersion"] == first
        token = page["metadata"].get("continue")
        if not token:
            break
        page = await client.ok("GET", f"{MAPS}?limit=2&continue={token}")
    assert seen == list("abcde")


@with_api
async def test_a_selective_page_is_full_and_says_no_count(client: ApiClient) -> None:
    await make(client, *"abcdef")
    page = await client.ok("GET", f"{MAPS}?limit=2&labelSelector={quote('name notin (a,c)')}")
    assert names(page) == ["b", "d"]
    assert "remainingItemCount" not in page["metadata"]
    token = page["metadata"]["continue"]
    rest = await client.ok(
        "GET", f"{MAPS}?limit=2&labelSelector={quote('name notin (a,c)')}&continue={token}"
    )
    assert names(rest) == ["e", "f"]


@with_api
async def test_a_list_of_one_name_has_no_next_page(client: ApiClient) -> None:
    for name in ("a", "a-2", "b"):
        await client.ok("POST", MAPS, {"metadata": {"name": name}})
    page = await client.ok("GET", f"{MAPS}?fieldSelector=metadata.name%3Da&limit=1")
    assert [item["metadata"]["name"] for item in page["items"]] == ["a"]
    assert "continue" not in page["metadata"]


@with_api
async def test_an_expired_token_brings_one_that_goes_on_with_what_is_there(client: ApiClient) -> None:
    await make(client, *"abcd")
    page = await client.ok("GET", f"{MAPS}?limit=2")
    await make(client, "bb")
    await client.cluster.store.compact(client.cluster.store.revision)
    code, status = await client.ask("GET", f"{MAPS}?limit=9&continue={page['metadata']['continue']}")
    assert (code, status["reason"]) == (410, "Expired")
    rest = await client.ok("GET", f"{MAPS}?limit=9&continue={status['metadata']['continue']}")
    assert names(rest) == ["bb", "c", "d"]


@with_api
async def test_an_exact_revision_shows_the_past(client: ApiClient) -> None:
    await make(client, "a")
    past = (await client.ok("GET", MAPS))["metadata"]["resourceVersion"]
    await make(client, "b")
    await client.ok("DELETE", f"{MAPS}/a")
    shown = await client.ok("GET", f"{MAPS}?resourceVersion={past}&resourceVersionMatch=Exact")
    assert (names(shown), shown["metadata"]["resourceVersion"]) == (["a"], past)


@with_api
async def test_a_revision_from_the_future_is_a_timeout_that_says_so(client: ApiClient) -> None:
    code, status = await client.ask("GET", f"{MAPS}?resourceVersion=999999")
    assert (code, status["reason"]) == (504, "Timeout")
    assert status["details"]["causes"][0]["reason"] == "ResourceVersionTooLarge"


@with_api
async def test_all_namespaces_are_listed_together(client: ApiClient) -> None:
    await client.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}})
    await make(client, "a")
    await client.ok("POST", "/api/v1/namespaces/other/configmaps", config_map("b"))
    listing = await client.ok("GET", "/api/v1/configmaps?fieldSelector=metadata.namespace!=kube-system")
    assert names(listing) == ["a", "b"]


@with_api
async def test_items_leave_kind_and_version_to_the_list(client: ApiClient) -> None:
    await make(client, "a")
    listing = await client.ok("GET", MAPS)
    assert (listing["kind"], listing["apiVersion"]) == ("ConfigMapList", "v1")
    assert not {"kind", "apiVersion"} & listing["items"][0].keys()


@with_api
async def test_yaml_is_written_when_asked_for(client: ApiClient) -> None:
    await make(client, "a")
    answer = await client.raw("GET", f"{MAPS}/a", headers={"accept": "application/yaml"})
    assert answer.headers.get("content-type") == "application/yaml"
    assert b"name: a\n" in answer.content


@with_api
async def test_pretty_json_is_indented(client: ApiClient) -> None:
    answer = await client.raw("GET", "/api/v1/namespaces/default?pretty=true")
    assert answer.content.startswith(b'{\n  "kind": "Namespace"')


@with_api
async def test_a_list_from_anywhen_comes_as_a_whole(client: ApiClient) -> None:
    await make(client, "a", "b", "c")
    listing = await client.ok("GET", f"{MAPS}?limit=1&resourceVersion=0")
    assert names(listing) == ["a", "b", "c"]
    assert "continue" not in listing["metadata"]


@with_api
async def test_events_are_served_in_both_groups(client: ApiClient) -> None:
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "reason": "Started",
        "message": "it did",
        "type": "Normal",
    }
    await client.ok("POST", "/api/v1/namespaces/default/events", event)
    listing = await client.ok("GET", "/apis/events.k8s.io/v1/namespaces/default/events")
    assert (listing["items"][0]["note"], listing["items"][0]["regarding"]["name"]) == ("it did", "p")
    for selector in ("involvedObject.name=p", "reason=Started"):
        found = await client.ok("GET", f"/api/v1/namespaces/default/events?fieldSelector={quote(selector)}")
        assert names(found) == ["e"]
    path = "/apis/events.k8s.io/v1/namespaces/default/events/e"
    _, patched = await client.patch(path, {"metadata": {"labels": {"a": "b"}}})
    # Who owned fields in one group is forgotten by a write in the other.
    owners = [entry["apiVersion"] for entry in patched["metadata"]["managedFields"]]
    assert owners == ["events.k8s.io/v1"]
    _, refused = await client.patch(path, {"type": "Odd"})
    assert refused["message"] == ('Event "e" is invalid: type: Invalid value: "Odd": field is immutable')


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("limit=x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("resourceVersion=-1", "invalid resource version"),
        ("fieldSelector=spec.x%3D1", "is not a known field selector"),
        ("labelSelector=%21%21", "unable to parse requirement"),
        ("continue=!!!", "illegal base64 data at input byte 0"),
        ("continue=e30", "does not recognize this encoded version"),
    ],
)
def test_bad_options_are_refused(query: str, message: str) -> None:
    async def body(client: ApiClient) -> None:
        code, status = await client.ask("GET", f"{MAPS}?{query}")
        assert (code, status["reason"]) == (400, "BadRequest")
        assert message in status["message"]

    with_api(body)()


@with_api
async def test_a_collection_is_deleted_page_by_page_where_a_limit_is_set(client: ApiClient) -> None:
    await make(client, *"abcde")
    first = await client.ok("DELETE", f"{MAPS}?limit=2")
    assert names(first) == ["a", "b"]
    assert first["metadata"]["remainingItemCount"] == 3
    assert names(await client.ok("GET", MAPS)) == ["c", "d", "e"]
    token = first["metadata"]["continue"]
    rest = await client.ok("DELETE", f"{MAPS}?limit=9&continue={token}")
    assert names(rest) == ["c", "d", "e"]
    assert names(await client.ok("GET", MAPS)) == []


METADATA = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"


@with_api
async def test_no_metadata_is_null(client: ApiClient) -> None:
    shown = await client.ok("GET", "/api/v1/namespaces/default/secrets", headers={"accept": METADATA})
    assert shown["items"] is None


@with_api
async def test_tables_and_metadata_are_those_of_the_stored_version(client: ApiClient) -> None:
    def percent(name: str) -> Object:
        target = {"type": "Utilization", "averageUtilization": 50}
        return {"type": "Resource", "resource": {"name": name, "target": target}}

    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 2, "scaleTargetRef": target, "metrics": [percent("cpu"), percent("memory")]}
    scalers = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    await client.ok("POST", scalers.format("v2"), {"metadata": {"name": "h"}, "spec": spec})
    old = f"{scalers.format('v1')}/h"
    assert "annotations" in (await client.ok("GET", old))["metadata"]
    accept = METADATA.replace("MetadataList", "Metadata")
    assert "annotations" not in (await client.ok("GET", old, headers={"accept": accept}))["metadata"]
    table = METADATA.replace("PartialObjectMetadataList", "Table")
    shown = await client.ok("GET", f"{old}?includeObject=Object", headers={"accept": table})
    [row] = shown["rows"]
    assert "cpu: <unknown>/50%, memory: <unknown>/50%" in row["cells"]
    assert row["object"]["spec"]["targetCPUUtilizationPercentage"] == 50


@with_api
async def test_metadata_alone_lacks_annotations_that_stand_for_fields(client: ApiClient) -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    sets = "/apis/apps/v1/namespaces/default/daemonsets"
    accept = METADATA.replace("MetadataList", "Metadata")
    for name, given in (("bare", {}), ("noted", {"note": "mine"})):
        metadata = {"name": name, "annotations": given}
        made = await client.ok("POST", sets, {"metadata": metadata, "spec": spec})
        assert made["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1", **given}
        shown = await client.ok("GET", f"{sets}/{name}", headers={"accept": accept})
        assert shown["metadata"].get("annotations", {}) == given
        assert ("annotations" in shown["metadata"]) == bool(given)
