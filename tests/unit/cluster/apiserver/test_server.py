"""The server seen from outside: who is let in, what refusals look like, what failures become."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import orjson
import pytest
import yaml

from steersman.cluster.store import DiskFull
from steersman.http import Client, ClientResponse, client_tls
from tests.support.api import ApiClient, Object, api, config_map, with_api

MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def status(code: int, reason: str, message: str, details: Object | None = None) -> Object:
    shown: Object = {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
    }
    if details is not None:
        shown["details"] = details
    return {**shown, "code": code}


async def anonymously(client: ApiClient, path: str, method: str = "GET", **given: Any) -> ClientResponse:
    """A request by somebody without, or with other, credentials."""
    cluster = client.cluster
    headers = [(name.encode(), value.encode()) for name, value in given.pop("headers", {}).items()]
    tls = client_tls(ca=cluster.authority.pem, **given)
    async with Client(cluster.url, ssl=tls) as other:
        return await other.request(method, path, headers=headers)


# Who


@with_api
async def test_what_anonymous_may_see(client: ApiClient) -> None:
    codes = {}
    for path in (
        "/healthz",
        "/livez",
        "/readyz",
        "/version",
        "/api",
        "/apis",
        "/metrics",
        "/openapi/v3",
        "/",
    ):
        codes[path] = (await anonymously(client, path)).status
    assert codes == {
        "/healthz": 200, "/livez": 200, "/readyz": 200, "/version": 200,
        "/api": 403, "/apis": 403, "/metrics": 403, "/openapi/v3": 403, "/": 403,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        (
            "GET",
            MAPS,
            status(
                403,
                "Forbidden",
                'configmaps is forbidden: User "system:anonymous" cannot list resource "configmaps" in API '
                'group "" in the namespace "default"',
                {"kind": "configmaps"},
            ),
        ),
        (
            "PUT",
            "/apis/apps/v1/namespaces/x/deployments/d/scale",
            status(
                403,
                "Forbidden",
                'deployments.apps "d" is forbidden: User "system:anonymous" cannot update resource '
                '"deployments/scale" in API group "apps" in the namespace "x"',
                {"name": "d", "group": "apps", "kind": "deployments"},
            ),
        ),
        (
            "GET",
            "/api/v1/nodes?watch=true",
            status(
                403,
                "Forbidden",
                'nodes is forbidden: User "system:anonymous" cannot watch resource "nodes" in API group "" '
                "at the cluster scope",
                {"kind": "nodes"},
            ),
        ),
        (
            "GET",
            "/metrics",
            status(403, "Forbidden", 'forbidden: User "system:anonymous" cannot get path "/metrics"', {}),
        ),
    ],
    ids=["list", "subresource", "watch", "path"],
)
def test_refusals_of_anonymous(method: str, path: str, body: Object) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        answer = await anonymously(client, path, method)
        assert (answer.status, orjson.loads(answer.content)) == (403, body)

    check()


@with_api
async def test_resources_that_do_not_exist_are_hidden_from_anonymous(client: ApiClient) -> None:
    answer = await anonymously(client, "/apis/nope/v1/things")
    assert answer.status == 403
    assert "cannot list resource" in orjson.loads(answer.content)["message"]


@with_api
async def test_bad_credentials_are_unauthorized(client: ApiClient) -> None:
    stranger = type(client.cluster.authority).make("stranger").issue("kubernetes-admin")
    other = {"cert": stranger.certificate, "key": stranger.key}
    server = client.cluster.authority.issue("apiserver", server=True, organizations=["system:masters"])
    no_client = {"cert": server.certificate, "key": server.key}
    for given in (
        {"headers": {"authorization": "Bearer wrong"}},
        {"headers": {"authorization": f"Bearer {client.cluster.token}x"}},
        other,
        {**other, "headers": {"authorization": "Basic YTpi"}},
        no_client,
    ):
        for path in (MAPS, "/healthz"):
            answer = await anonymously(client, path, **given)
            assert (answer.status, orjson.loads(answer.content)) == (
                401,
                status(401, "Unauthorized", "Unauthorized"),
            )


@with_api
async def test_certificates_of_the_cluster_are_let_in(client: ApiClient) -> None:
    admin = client.cluster.authority.issue("me", organizations=["system:masters"])
    answer = await anonymously(client, MAPS, cert=admin.certificate, key=admin.key)
    assert answer.status == 200
    nobody = client.cluster.authority.issue("ann", organizations=["dev"])
    answer = await anonymously(client, MAPS, cert=nobody.certificate, key=nobody.key)
    assert 'User "ann" cannot list' in orjson.loads(answer.content)["message"]


@with_api
async def test_a_token_helps_where_a_certificate_does_not(client: ApiClient) -> None:
    stranger = type(client.cluster.authority).make("stranger").issue("x")
    headers = {"authorization": f"bearer {client.cluster.token}"}
    answer = await anonymously(client, MAPS, cert=stranger.certificate, key=stranger.key, headers=headers)
    assert answer.status == 200


@with_api
async def test_each_request_of_a_connection_is_its_own_users(client: ApiClient) -> None:
    tls = client_tls(ca=client.cluster.authority.pem)
    good = [(b"authorization", f"Bearer {client.cluster.token}".encode())]
    async with Client(client.cluster.url, ssl=tls, pool_size=1) as one:
        codes = [
            (await one.request("GET", MAPS, headers=headers)).status
            for headers in (good, [], [(b"authorization", b"Bearer wrong")], good, [])
        ]
    assert codes == [200, 403, 401, 200, 403]


# What


@pytest.mark.parametrize(
    ("method", "path", "code", "message"),
    [
        ("GET", "/api/v1/nopes", 404, "the server could not find the requested resource"),
        ("GET", "/api/v2", 404, "the server could not find the requested resource"),
        ("GET", "/apis/apps/v2", 404, "the server could not find the requested resource"),
        ("POST", "/apis/apps/v2/deployments", 404, "the server could not find the requested resource"),
        ("GET", "/api/v1/namespaces/x/nodes", 404, "the server could not find the requested resource"),
        ("GET", "/api/v1/pods/p", 404, "the server could not find the requested resource"),
        ("GET", f"{MAPS}/a/status", 404, "the server could not find the requested resource"),
        ("GET", f"{MAPS}/a", 404, 'configmaps "a" not found'),
        ("GET", "/apis/apps/v1/namespaces/x/deployments/d", 404, 'deployments.apps "d" not found'),
        ("POST", f"{MAPS}/a", 405, "the server does not allow this method on the requested resource"),
        ("PUT", MAPS, 405, "the server does not allow this method on the requested resource"),
        (
            "POST",
            "/api/v1/configmaps",
            405,
            "the server does not allow this method on the requested resource",
        ),
        ("POST", "/version", 405, "the server does not allow this method on the requested resource"),
        ("OPTIONS", "/api/v1", 405, "the server does not allow this method on the requested resource"),
        ("PUT", "/api/v2", 404, "the server could not find the requested resource"),
        ("GET", "/api/v1/watch/bindings", 404, "the server could not find the requested resource"),
        (
            "GET",
            "/api/v1/watch/namespaces/default/pods/a/log",
            404,
            "the server could not find the requested resource",
        ),
        (
            "GET",
            "/apis/authorization.k8s.io/v1/subjectaccessreviews/x",
            404,
            "the server could not find the requested resource",
        ),
        (
            "OPTIONS",
            "/api/v1/namespaces/default/configmaps/a/b",
            404,
            "the server could not find the requested resource",
        ),
        (
            "OPTIONS",
            "/api/v1/namespaces/default/configmaps/a",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/configmaps/%25",
            400,
            "Name parameter invalid: \"%\": may not contain '%'",
        ),
        (
            "GET",
            "/api/v1/namespaces/default/configmaps/.",
            400,
            "Name parameter invalid: \".\": may not be '.'",
        ),
        (
            "POST",
            "/api/v1/namespaces/default/configmaps?timeout=5",
            400,
            'invalid timeout specified in the request URL - time: missing unit in duration "5"',
        ),
        (
            "DELETE",
            "/api/v1/namespaces/default/configmaps/%2F/status",
            404,
            "the server could not find the requested resource",
        ),
        (
            "DELETE",
            "/api/v1/namespaces/default/pods/a//status",
            404,
            "the server could not find the requested resource",
        ),
        ("GET", "/api/v1/namespaces/default/pods//status", 400, "name must be provided"),
        (
            "OPTIONS",
            "/apis/apiregistration.k8s.io",
            405,
            "the server does not allow this method on the requested resource",
        ),
        (
            "DELETE",
            "/api/v1/watch/namespaces/default/configmaps",
            405,
            "the server does not allow this method on the requested resource",
        ),
    ],
)
def test_what_is_not_there_or_not_possible(method: str, path: str, code: int, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        shown_code, body = await client.ask(method, path)
        assert (shown_code, body["message"], body["code"]) == (code, message, code)

    check()


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "path",
    [
        "/nope",
        "/apis//",
        "/apis/nope/v1",
        "/apis/nope/v1/foos",
        "/healthz/",
        "/healthz/nope",
        "//api/v1/namespaces",
    ],
)
def test_paths_nobody_serves(path: str, method: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        answer = await client.raw(method, path)
        assert (answer.status, answer.content) == (404, b"404 page not found\n")
        assert answer.headers.get("content-type") == "text/plain; charset=utf-8"

    check()


@with_api
async def test_the_servers_own_paths(client: ApiClient) -> None:
    version = await client.ok("GET", "/version")
    assert (version["major"], version["minor"]) == ("1", "37")
    paths = (await client.ok("GET", "/"))["paths"]
    for path in paths:
        assert (await client.raw("GET", path)).status == 200, path


@with_api
async def test_head_is_get_without_a_body(client: ApiClient) -> None:
    for path in ("/healthz", "/apis", "/apis/apps"):
        got, asked = await client.raw("GET", path), await client.raw("HEAD", path)
        assert (asked.status, asked.content) == (got.status, b"")
        assert asked.headers.get("content-length") == got.headers.get("content-length")
        assert asked.headers.get("content-type") == got.headers.get("content-type")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (
            "continue=%FF",
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        ),
        (
            "continue=a%C3%A9",
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 1",
        ),
        (
            "continue=x",
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 0",
        ),
        (
            "continue=abcde",
            "invalid continue token: continue key is not valid: illegal base64 data at input byte 4",
        ),
        (
            "continue=e30",
            "invalid continue token: continue key is not valid: server does not recognize this encoded version ",
        ),
        (
            "continue=abc&resourceVersion=5",
            "invalid continue token: continue key is not valid: invalid character 'i' looking for beginning "
            "of value",
        ),
        ("limit=1_0", 'strconv.ParseInt: parsing "1_0": invalid syntax'),
        (
            "resourceVersion=" + "9" * 5000,
            'invalid resource version: resourceVersion: Invalid value: "{0}": strconv.ParseUint: parsing "{0}": '
            "value out of range".format("9" * 5000),
        ),
    ],
    ids=["bytes", "letters", "one byte", "one too many", "version", "order", "number", "digits"],
)
def test_nonsense_in_a_query_is_a_bad_request(query: str, message: str) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        code, body = await client.ask("GET", f"{MAPS}?{query}")
        assert (code, body["message"]) == (400, message)

    check()


# In which form


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/nope", 404),
        ("GET", f"{MAPS}/a/nope", 404),
        ("GET", "/version/x", 404),
        ("PUT", MAPS, 405),
        ("GET", "/version", 406),
    ],
)
def test_refusals_are_yaml_for_those_who_ask(method: str, path: str, code: int) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        headers = [(b"accept", b"application/yaml")]
        answer = await client.http.request(method, path, headers=headers)
        assert (answer.status, answer.headers.get("content-type")) == (code, "application/yaml")
        assert yaml.safe_load(answer.content)["code"] == code
        refused = await anonymously(client, path, method, headers={"accept": "application/yaml"})
        assert (refused.headers.get("content-type")) == "application/yaml"

    check()


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/api/v1/namespaces/default/pods/p/ephemeralcontainers", None),
        ("GET", "/api/v1/namespaces/default/pods/p/resize", None),
        ("POST", "/api/v1/namespaces/default/pods/p/eviction", {}),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/a/token", {}),
        ("GET", "/apis/apiregistration.k8s.io/v1/apiservices/v1./status", None),
        ("GET", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/c/status", None),
    ],
)
def test_not_everything_can_be_a_table(method: str, path: str, body: Object | None) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        code, said = await client.ask(method, path, body, {"accept": TABLE})
        assert (code, said["reason"]) == (406, "NotAcceptable")
        assert said["message"].startswith("only the following media types are accepted: ")

    check()


@with_api
async def test_everything_can_be_metadata_alone(client: ApiClient) -> None:
    accept = {"accept": "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"}
    code, shown = await client.ask("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {}, accept)
    assert (code, shown["kind"], list(shown["metadata"])) == (
        201,
        "PartialObjectMetadata",
        ["creationTimestamp"],
    )


@with_api
async def test_a_table_of_what_was_not_stored_has_no_version(client: ApiClient) -> None:
    code, shown = await client.ask("POST", f"{MAPS}?dryRun=All", config_map("a"), {"accept": TABLE})
    assert (code, shown["metadata"]) == (201, {})


@with_api
async def test_a_scale_is_no_list(client: ApiClient) -> None:
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}}}
    spec["template"]["spec"] = {"containers": [{"name": "c", "image": "i"}]}  # type: ignore[assignment]
    path = "/apis/apps/v1/namespaces/default/replicasets"
    await client.ok("POST", path, {"metadata": {"name": "r"}, "spec": spec})
    accept = {"accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
    code, said = await client.ask("GET", f"{path}/r/scale", None, accept)
    assert (code, said["message"]) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list (*autoscaling.Scale)",
    )


@with_api
async def test_who_asks_for_what_is_not_served_is_not_warned_of_its_age(client: ApiClient) -> None:
    path = "/api/v1/namespaces/default/endpoints"
    assert (await client.raw("GET", path)).headers.get("warning")
    for method, other in (("GET", f"{path}/a/nope"), ("PUT", path)):
        assert (await client.raw(method, other)).headers.get("warning") is None


@pytest.mark.parametrize(
    ("agent", "query", "accept", "pretty"),
    [
        ("test/1", "", "", False),
        ("curl/8.5.0", "", "", True),
        ("Wget/1.21", "", "", True),
        ("Mozilla/5.0 (X11)", "", "", True),
        ("kubectl/v1.37.0", "", "application/json", False),
        ("test/1", "?pretty=true", "", True),
        ("test/1", "?pretty=1", TABLE, True),
        ("curl/8.5.0", "?pretty=false", "", False),
        ("test/1", "", "application/json;pretty=1", True),
    ],
)
def test_people_get_indented_answers(agent: str, query: str, accept: str, pretty: bool) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        headers = {"user-agent": agent, **({"accept": accept} if accept else {})}
        for path in (MAPS, "/api/v1/namespaces/default", f"{MAPS}/nope"):
            content = (await client.raw("GET", path + query, headers=headers)).content
            assert content.startswith(b'{\n  "kind"') is pretty, path
            assert content.endswith(b"}\n") is pretty
            assert orjson.loads(content)["kind"]

    check()


@with_api
async def test_yaml_for_those_who_ask(client: ApiClient) -> None:
    headers = {"accept": "application/yaml"}
    for path, kind in (
        (MAPS, "ConfigMapList"),
        ("/api/v1/namespaces/default", "Namespace"),
        (f"{MAPS}/a", "Status"),
    ):
        answer = await client.raw("GET", path, headers=headers)
        assert answer.headers.get("content-type") == "application/yaml"
        assert yaml.safe_load(answer.content)["kind"] == kind


@with_api
async def test_not_every_subresource_has_columns(client: ApiClient) -> None:
    pod = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    await client.ok("POST", "/api/v1/namespaces/default/pods", pod)
    claim = {"metadata": {"name": "a"}, "spec": {}}
    await client.ok("POST", "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", claim)
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    for path, kind in (
        ("/api/v1/namespaces/default", "Table"),
        ("/api/v1/namespaces/default/status", "Table"),
        ("/api/v1/namespaces/default/pods/a/status", "Table"),
        ("/api/v1/namespaces/default/pods/a/resize", "Pod"),
        ("/api/v1/namespaces/default/pods/a/ephemeralcontainers", "Pod"),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a", "Table"),
        ("/apis/resource.k8s.io/v1/namespaces/default/resourceclaims/a/status", "ResourceClaim"),
    ):
        shown = await client.ok("GET", path, headers={"accept": f"{table},application/json"})
        assert (path, shown["kind"]) == (path, kind)
        code, _ = await client.ask("GET", path, headers={"accept": table})
        assert (path, code) == (path, 200 if kind == "Table" else 406)


@with_api
async def test_forms_nobody_speaks(client: ApiClient) -> None:
    code, body = await client.ask("GET", MAPS, headers={"accept": "text/html"})
    assert (code, body["reason"]) == (406, "NotAcceptable")
    router = "406: Not Acceptable\n\nAvailable representations: "
    offered = "application/json, application/yaml, application/vnd.kubernetes.protobuf"
    refused = f"only the following media types are accepted: {offered}"
    for path, accept, message in (
        (f"{MAPS}/a", "text/html", router + offered),
        (f"{MAPS}/a", "application/*", router + offered),
        ("/api/v1/namespaces/default/pods/a/log", "text/html", f"{router}text/plain, {offered}"),
        ("/api/v1/namespaces/default/pods/a/log", "text/plain", refused),
        (MAPS, "application/json;as=Table;v=v2;g=meta.k8s.io", refused),
    ):
        code, body = await client.ask("GET", path, headers={"accept": accept})
        assert (code, body["message"]) == (406, message)
    table = "application/json;as=Table;v=v1;g=meta.k8s.io"
    statuses = await client.ok("GET", "/api/v1/componentstatuses", headers={"accept": table})
    assert statuses["kind"] == "Table"
    review = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    assert (await client.ask("POST", review, {}, {"accept": table}))[0] == 406
    _, shown = await client.ask("POST", review, {}, {"accept": f"{table},application/json"})
    assert shown["kind"] == "SelfSubjectReview"
    metadata = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
    _, shown = await client.ask("POST", review, {}, {"accept": metadata})
    assert shown["kind"] == "PartialObjectMetadata"
    code, body = await client.ask("POST", MAPS, b"x", {"content-type": "text/html"})
    assert (code, body) == (
        415,
        status(
            415,
            "UnsupportedMediaType",
            "the body of the request was in an unknown format - accepted media types include: "
            "application/json, application/yaml, application/vnd.kubernetes.protobuf",
        ),
    )
    await client.ok("POST", MAPS, config_map("a"))
    code, body = await client.ask("PATCH", f"{MAPS}/a", {})
    assert (code, body["reason"]) == (415, "UnsupportedMediaType")
    code, body = await client.ask("POST", MAPS, b"{")
    assert (code, body["reason"]) == (400, "BadRequest")


@with_api
async def test_warnings_are_headers(client: ApiClient) -> None:
    odd = config_map("a")
    odd["colour"] = "red"
    odd['qu"ote'] = 1
    answer = await client.raw("POST", MAPS, odd)
    assert answer.status == 201
    assert answer.headers.get_all("warning") == [
        '299 - "unknown field \\"colour\\""',
        '299 - "unknown field \\"qu\\\\\\"ote\\""',
    ]
    strict = await client.raw("POST", f"{MAPS}?fieldValidation=Strict", {**odd, "metadata": {"name": "b"}})
    assert (strict.status, strict.headers.get_all("warning")) == (400, [])


@with_api
async def test_large_answers_are_compressed_when_asked(client: ApiClient) -> None:
    for name in ("a", "b"):
        await client.ok("POST", MAPS, config_map(name, k="v" * 100_000))
    zipped = await client.raw("GET", MAPS)
    assert zipped.headers.get("content-encoding") == "gzip", "as this client asks for"
    assert [each["metadata"]["name"] for each in orjson.loads(zipped.content)["items"]] == ["a", "b"]
    small = await client.raw("GET", "/api/v1/nodes")
    assert small.headers.get("content-encoding") is None
    plain_headers = [
        (b"accept-encoding", b"identity"),
        (b"authorization", f"Bearer {client.cluster.token}".encode()),
    ]
    tls = client_tls(ca=client.cluster.authority.pem)
    async with Client(client.cluster.url, ssl=tls, headers=plain_headers) as plain_client:
        plain = await plain_client.request("GET", MAPS)
    assert plain.headers.get("content-encoding") is None
    # Something else may have been written in between, so the lists' own revisions may differ.
    assert orjson.loads(plain.content)["items"] == orjson.loads(zipped.content)["items"]


# What admission does


@with_api
async def test_a_pods_manifest_can_be_sent_again(client: ApiClient) -> None:
    pods = "/api/v1/namespaces/default/pods"
    containers = [{"name": "c", "image": "nginx:1.27"}]
    spec = {"containers": containers, "serviceAccountName": "default", "automountServiceAccountToken": False}
    manifest: Object = {"metadata": {"name": "p"}, "spec": spec}
    created = await client.ok("POST", pods, manifest)
    manifest["metadata"]["labels"] = {"a": "b"}
    updated = await client.ok("PUT", f"{pods}/p", manifest)
    assert updated["spec"] == created["spec"]
    assert updated["spec"]["priority"] == 0
    assert len(updated["spec"]["tolerations"]) == 2


@with_api
async def test_only_one_priority_class_is_the_default(client: ApiClient) -> None:
    classes = "/apis/scheduling.k8s.io/v1/priorityclasses"
    first = {"metadata": {"name": "first"}, "value": 5, "globalDefault": True}
    await client.ok("POST", classes, first)
    code, body = await client.ask("POST", classes, {**first, "metadata": {"name": "second"}})
    assert (code, body["message"]) == (
        403,
        'priorityclasses.scheduling.k8s.io "second" is forbidden: PriorityClass first is already marked as '
        "default. Only one default can exist",
    )
    assert (await client.patch(f"{classes}/first", {"description": "still"}))[0] == 200


# What goes wrong


@with_api
async def test_a_full_disk_stops_writes_and_not_reads(client: ApiClient) -> None:
    await client.ok("POST", MAPS, config_map("a"))
    store: Any = client.cluster.store
    put = store.put

    async def refuse(*_: Any, **__: Any) -> None:
        raise DiskFull("no space is left")

    store.put = refuse
    requests: list[tuple[str, str, Object]] = [
        ("POST", MAPS, config_map("b")),
        ("PUT", f"{MAPS}/a", config_map("a", k="v")),
    ]
    for method, path, body in requests:
        answer = await client.raw(method, path, body)
        assert answer.status == 503
        assert answer.headers.get("retry-after") == "1"
        assert orjson.loads(answer.content) == status(
            503, "ServiceUnavailable", "the store does not take writes: no space is left"
        )
    assert len((await client.ok("GET", MAPS))["items"]) == 1
    async with client.watch(f"{MAPS}?watch=1") as events:
        assert await events.take(1) == [("ADDED", "a")]
        store.put = put
        await client.ok("POST", MAPS, config_map("b"))
        assert await events.take(1) == [("ADDED", "b")]


@with_api
async def test_a_failed_write_of_a_service_gives_its_address_back(client: ApiClient) -> None:
    services = "/api/v1/namespaces/default/services"
    body = {"metadata": {"name": "s"}, "spec": {"clusterIP": "10.96.0.77", "ports": [{"port": 80}]}}
    store: Any = client.cluster.store
    put = store.put

    async def refuse(*_: Any, **__: Any) -> None:
        raise DiskFull("no space is left")

    store.put = refuse
    assert (await client.ask("POST", services, body))[0] == 503
    store.put = put
    await client.ok("POST", services, body)


@with_api
async def test_the_clusters_own_address_is_taken_from_the_start(client: ApiClient) -> None:
    services = "/api/v1/namespaces/default/services"
    own = (await client.ok("GET", f"{services}/kubernetes"))["spec"]["clusterIP"]
    body = {"metadata": {"name": "s"}, "spec": {"clusterIP": own, "ports": [{"port": 80}]}}
    code, answer = await client.ask("POST", services, body)
    assert code == 422
    assert "provided IP is already allocated" in answer["message"]


@pytest.mark.parametrize("where", ["get", "put"])
def test_a_bug_is_an_internal_error_that_tells_nothing(where: str, caplog: pytest.LogCaptureFixture) -> None:
    @with_api
    async def check(client: ApiClient) -> None:
        store: Any = client.cluster.store

        def fail(*_: Any, **__: Any) -> None:
            raise RuntimeError("password hunter2")

        setattr(store, where, fail)
        if where == "get":
            answer = await client.raw("GET", f"{MAPS}/a")
        else:
            answer = await client.raw("POST", MAPS, config_map("a"))
        why = "the server failed to handle the request; its log says why"
        assert answer.status == 500
        assert orjson.loads(answer.content) == status(
            500, "InternalError", f"Internal error occurred: {why}", {"causes": [{"message": why}]}
        )
        delattr(store, where)
        assert (await client.raw("GET", MAPS)).status == 200

    check()
    records = [record for record in caplog.records if record.name.startswith("steersman.cluster.apiserver")]
    assert [record.levelname for record in records] == ["ERROR"]
    assert records[0].exc_info is not None


def test_secrets_never_appear_in_logs(caplog: pytest.LogCaptureFixture) -> None:
    token, content = "token-for-this-test", "c2VjcmV0LWNvbnRlbnQ="

    async def run() -> None:
        async with api(admin_token=token) as client:
            secrets = "/api/v1/namespaces/default/secrets"
            secret = {"metadata": {"name": "a"}, "data": {"k": content}}
            await client.ok("POST", secrets, secret)
            await client.ask("POST", secrets, secret)
            await client.ask("POST", secrets, {**secret, "data": content})
            await client.ask("GET", MAPS, headers={"authorization": f"Bearer {token}-wrong"})
            store: Any = client.cluster.store

            async def fail(*_: Any, **__: Any) -> None:
                raise RuntimeError("broken")

            store.put = fail
            code, _ = await client.ask("PUT", f"{secrets}/a", {**secret, "stringData": {"l": "plain-secret"}})
            assert code == 500

    with caplog.at_level(logging.DEBUG):
        asyncio.run(run())
    formatter = logging.Formatter("%(message)s")
    text = "\n".join(formatter.format(record) for record in caplog.records)
    assert "broken" in text, "the log is being looked at"
    for secret in (token, content, "plain-secret", "cGxhaW4tc2VjcmV0"):
        assert secret not in text
