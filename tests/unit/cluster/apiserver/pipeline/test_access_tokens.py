"""TokenRequest, and the documents with which others check our tokens."""

from __future__ import annotations

from typing import Any, cast

import orjson
import pytest

from steersman.cluster.apiserver.non_resource.openid import OpenIDMetadata
from steersman.cluster.apiserver.subresources.token_requests import TokenRequests
from steersman.cluster.auth.authentication import InvalidCredentials
from steersman.cluster.auth.jwt import VerificationKey, parse
from steersman.http import Headers, Request
from steersman.objects.status import StatusError
from tests.unit.cluster.apiserver.access_world import World, content, in_world, refused

Object = dict[str, Any]

PATH = "/api/v1/namespaces/n/serviceaccounts/bot/token"


async def request(world: World, spec: Object, longest_s: int = 0, **body: Any) -> Object:
    call = world.call(PATH, {"spec": spec, **body})
    answer = await TokenRequests(world.access.tokens, longest_s).create(world.api, call)
    assert answer.status == 201
    return content(answer)


async def refusal(world: World, code: int, spec: Object, **body: Any) -> str:
    with pytest.raises(StatusError) as error:
        await request(world, spec, **body)
    return refused(code, error.value)


async def with_account(world: World) -> None:
    await world.put("serviceaccounts", "bot", {}, "n")


@in_world
async def test_a_token_as_asked_for(world: World) -> None:
    await with_account(world)
    world.api.now = lambda: 1_700_000_000.0
    answer = await request(world, {"expirationSeconds": 600})
    token = answer["status"].pop("token")
    (entry,) = answer["metadata"].pop("managedFields")
    assert entry["fieldsV1"] == {"f:spec": {"f:expirationSeconds": {}}}
    assert (entry["subresource"], entry["manager"]) == ("token", "test")
    assert answer == {
        "kind": "TokenRequest",
        "apiVersion": "authentication.k8s.io/v1",
        "metadata": {
            "name": "bot",
            "namespace": "n",
            "uid": "bot-uid",
            "creationTimestamp": "2023-11-14T22:13:20Z",
        },
        "spec": {
            "audiences": ["https://kubernetes.default.svc"],
            "boundObjectRef": None,
            "expirationSeconds": 600,
        },
        "status": {"expirationTimestamp": "2023-11-14T22:23:20Z"},
    }
    assert world.access.authentication.by_header(f"Bearer {token}").name == "system:serviceaccount:n:bot"


@in_world
async def test_the_manager_may_be_named(world: World) -> None:
    await with_account(world)
    call = world.call(f"{PATH}?fieldManager=me", {"spec": {"expirationSeconds": 600}})
    answer = content(await TokenRequests(world.access.tokens, 0).create(world.api, call))
    assert [entry["manager"] for entry in answer["metadata"]["managedFields"]] == ["me"]


@in_world
async def test_an_hour_when_nothing_is_said(world: World) -> None:
    await with_account(world)
    claims = parse((await request(world, {}))["status"]["token"]).claims
    assert claims["exp"] - claims["iat"] == 3600


@in_world
async def test_a_token_for_another_audience_does_not_open_the_api(world: World) -> None:
    await with_account(world)
    answer = await request(world, {"audiences": ["vault"]})
    assert answer["spec"]["audiences"] == ["vault"]
    authentication = world.access.authentication
    with pytest.raises(InvalidCredentials):
        authentication.by_header(f"Bearer {answer['status']['token']}")
    assert authentication.by_token(answer["status"]["token"], ["vault"]).audiences == ["vault"]


@pytest.mark.parametrize(
    ("code", "spec", "body", "text"),
    [
        (422, {"expirationSeconds": 599}, {}, "may not specify a duration less than 10 minutes"),
        (422, {"expirationSeconds": (1 << 32) + 1}, {}, "may not specify a duration larger than 2^32 seconds"),
        (422, {}, {"metadata": {"name": "other"}},
         'TokenRequest.authentication.k8s.io "bot" is invalid: metadata.name: Invalid value: "other": must match '
         "the service account name if specified"),
        (400, {}, {"metadata": {"namespace": "o"}}, "the namespace of the provided object does not match the"),
        (400, {"boundObjectRef": {"kind": "Pod"}}, {}, "Name parameter required."),
        (409, {}, {"metadata": {"uid": "old"}}, "the UID in the token request (old) does not match the UID"),
        (400, {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "x"}}, {},
         "cannot bind token to object of type /v1, Kind=ConfigMap"),
        (422, {"boundObjectRef": {"kind": "MutatingWebhookConfiguration", "name": "x",
                                  "apiVersion": "admissionregistration.k8s.io/v1"}}, {}, "attestation"),
        (400, {"audiences": ["a"], "attestations": {"admissionReviewAPIGroups": ["apps"]},
               "boundObjectRef": {"kind": "MutatingWebhookConfiguration", "name": "x",
                                  "apiVersion": "admissionregistration.k8s.io/v1"}}, {},
         "cannot bind token to object of type admissionregistration.k8s.io/v1, "
         "Kind=MutatingWebhookConfiguration (feature gate APIServerWebhookAuthenticationToken is disabled)"),
        (400, {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "others"}}, {},
         'cannot bind token for serviceaccount "bot" to pod running with different serviceaccount name.'),
        (404, {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "gone"}}, {}, 'pods "gone" not found'),
        (404, {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "gone"}}, {}, "not found"),
        (409, {"boundObjectRef": {"kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "old"}}, {},
         "the UID in the bound object reference (old) does not match the UID in record. The object might have "
         "been deleted and then recreated"),
    ],
    ids=lambda part: str(part)[:60],
)  # fmt: skip
@in_world
async def test_what_is_refused(world: World, code: int, spec: Object, body: Object, text: str) -> None:
    await with_account(world)
    await world.put("pods", "p", {"spec": {"serviceAccountName": "bot"}}, "n")
    await world.put("pods", "others", {"spec": {"serviceAccountName": "admin"}}, "n")
    assert text in await refusal(world, code, spec, **body)


@in_world
async def test_only_webhooks_of_the_current_version_wait_for_a_gate(world: World) -> None:
    await with_account(world)
    for kind, version in (("Policy", "v1"), ("MutatingWebhookConfiguration", "v1beta1")):
        shown = f"admissionregistration.k8s.io/{version}"
        ref = {"kind": kind, "apiVersion": shown, "name": "x"}
        assert await refusal(world, 400, {"boundObjectRef": ref}) == (
            f"cannot bind token to object of type {shown}, Kind={kind}"
        )


@in_world
async def test_no_account_no_token(world: World) -> None:
    assert await refusal(world, 404, {}) == 'serviceaccounts "bot" not found'


@in_world
async def test_a_pods_token_tells_its_node_and_dies_with_the_pod(world: World) -> None:
    await with_account(world)
    await world.put("pods", "p", {"spec": {"serviceAccountName": "bot", "nodeName": "x"}}, "n")
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    token = (await request(world, {"boundObjectRef": ref}))["status"]["token"]
    about = parse(token).claims["kubernetes.io"]
    assert about["pod"] == {"name": "p", "uid": "p-uid"}
    assert about["node"] == {"name": "x"}
    await world.put("nodes", "x", {})
    again = (await request(world, {"boundObjectRef": ref}))["status"]["token"]
    assert parse(again).claims["kubernetes.io"]["node"] == {"name": "x", "uid": "x-uid"}
    authentication = world.access.authentication
    extra = authentication.by_header(f"Bearer {again}").extra
    assert extra["authentication.kubernetes.io/node-uid"] == ["x-uid"]
    await world.store.delete("/core/pods/n/p")
    for each in (token, again):
        with pytest.raises(InvalidCredentials):
            authentication.by_header(f"Bearer {each}")


@pytest.mark.parametrize(("kind", "plural", "namespace"), [("Secret", "secrets", "n"), ("Node", "nodes", "")])
@in_world
async def test_other_objects_to_be_bound_to(world: World, kind: str, plural: str, namespace: str) -> None:
    await with_account(world)
    await world.put(plural, "x", {}, namespace)
    ref = {"kind": kind, "apiVersion": "v1", "name": "x", "uid": "x-uid"}
    token = (await request(world, {"boundObjectRef": ref}))["status"]["token"]
    assert parse(token).claims["kubernetes.io"][kind.lower()] == {"name": "x", "uid": "x-uid"}
    world.access.authentication.by_header(f"Bearer {token}")
    await world.put(plural, "x", {"metadata": {"uid": "new"}}, namespace)
    with pytest.raises(InvalidCredentials):
        world.access.authentication.by_header(f"Bearer {token}")


@in_world
async def test_a_mounted_token_lasts_a_year_and_says_when_it_is_stale(world: World) -> None:
    await with_account(world)
    await world.put("pods", "p", {"spec": {"serviceAccountName": "bot"}}, "n")
    ref = {"kind": "Pod", "apiVersion": "v1", "name": "p"}
    claims = parse(
        (await request(world, {"boundObjectRef": ref, "expirationSeconds": 3607}))["status"]["token"]
    ).claims
    assert claims["exp"] - claims["iat"] == 365 * 86400
    assert claims["kubernetes.io"]["warnafter"] == claims["iat"] + 3607
    spec = {"boundObjectRef": ref, "expirationSeconds": 3607, "audiences": ["vault"]}
    claims = parse((await request(world, spec))["status"]["token"]).claims
    assert claims["exp"] - claims["iat"] == 3607


@in_world
async def test_long_lives_are_shortened_where_there_is_a_limit(world: World) -> None:
    await with_account(world)
    call = world.call(PATH, {"spec": {"expirationSeconds": 7200}})
    answer = content(await TokenRequests(world.access.tokens, 3600).create(world.api, call))
    assert answer["spec"]["expirationSeconds"] == 3600
    assert call.warnings == ["requested expiration of 7200 seconds shortened to 3600 seconds"]


# Discovery


def get(path: str, accept: str | None = None) -> Request:
    headers = Headers([(b"accept", accept.encode())] if accept else [])
    return Request("GET", path, headers, cast(Any, None), cast(Any, None), True, True)


@in_world
async def test_others_can_find_our_keys(world: World) -> None:
    await with_account(world)
    metadata = OpenIDMetadata(world.access.tokens, "https://1.2.3.4:6443")
    answer = metadata.serve(get("/.well-known/openid-configuration", "application/json"))
    assert answer is not None
    assert content(answer) == {
        "issuer": "https://kubernetes.default.svc",
        "jwks_uri": "https://1.2.3.4:6443/openid/v1/jwks",
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["ES256"],
    }
    for accept in (None, "*/*", "application/jwk-set+json", "text/html, application/jwk-set+json;q=0.5"):
        keys = metadata.serve(get("/openid/v1/jwks", accept))
        assert keys is not None
        assert (b"Content-Type", b"application/jwk-set+json") in keys.headers
    assert keys is not None
    token = (await request(world, {}))["status"]["token"]
    parse(token).verify(
        [VerificationKey.from_jwk(jwk) for jwk in orjson.loads(cast(bytes, keys.body))["keys"]]
    )
    with pytest.raises(StatusError) as error:
        metadata.serve(get("/openid/v1/jwks", "application/json"))
    assert "application/jwk-set+json" in refused(406, error.value)
    for path in ("/openid/v1/jwks/", "/openid/v1", "/.well-known", "//openid/v1/jwks"):
        assert metadata.serve(get(path)) is None
